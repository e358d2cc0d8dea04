@testable import Applications
import Domain
import Encodings
import Facebook
import Testing
import Twitter

@Suite("What makes the logins of an application fail")
struct HindranceTests {
    private static func unknown(_ field: String) -> Failure {
        Failure(.mappingInvalid, "Facebook does not know it.", details: ["field": .string(field)])
    }

    @Test("a field that the provider lacks is one while the stored mapping asks for it, until a login succeeds")
    func unknownField() throws {
        var sample = Sample(apps: ["1"])
        sample.settings = #"{"undeclaredProperties":null,"clientMapping":true}"#
        sample.properties = #"{"city":{"type":"STRING"},"nick":{"type":"STRING","clientMappable":true}}"#
        sample.mapping = #"{"locaton.nam":"city"}"#
        let stored = try sample.stored()
        let loaded = LoadedApplication(stored, masterKeys: try Sample.masterKeys(), kinds: try .outOfReach())
        #expect(loaded.obstacles == [])
        let client = try json(#"{"emial":"nick"}"#)
        _ = try loaded.explained(Self.unknown("emial"), provider: .facebook, clientMapping: client)
        _ = try loaded.explained(Self.unknown("canary"), provider: .facebook, clientMapping: nil)
        _ = try loaded.explained(.sessionInvalid, provider: .facebook, clientMapping: nil)
        #expect(loaded.obstacles == [], "a client's own mapping refuses its own logins alone")
        let explained = try loaded.explained(Self.unknown("locaton"), provider: .facebook, clientMapping: client)
        #expect(explained.message.contains(#"("locaton.nam" to "city")"#), "\(explained.message)")
        #expect(loaded.obstacles == ["Logins by facebook are refused: \(explained.message)"])
        loaded.noteProfile(from: .twitter)
        #expect(loaded.obstacles.count == 1)
        loaded.noteProfile(from: .facebook)
        #expect(loaded.obstacles == [])
    }
}
