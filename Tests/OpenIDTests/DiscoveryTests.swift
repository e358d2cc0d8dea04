import Curl
import Domain
import Encodings
@testable import OpenID
import Testing

@Suite("Discovery documents")
struct DiscoveryTests {
    private static let issuer = "https://id.example.com"

    private func document(_ changes: [String: JSONValue?] = [:]) -> [UInt8] {
        var members: [String: JSONValue?] = [
            "issuer": .string(Self.issuer), "jwks_uri": .string("https://id.example.com/keys"),
            "authorization_endpoint": .string("https://id.example.com/authorize?tenant=1"),
            "token_endpoint": .string("https://id.example.com/token"),
        ]
        for (name, value) in changes { members.updateValue(value, forKey: name) }
        let present = members.compactMap { name, value in value.map { JSONObject.Member(name, $0) } }
        return Array(JSONValue.object(JSONObject(present)).text.utf8)
    }

    private func problem(_ body: [UInt8], of issuer: String = issuer) -> String? {
        do {
            _ = try Discovery(body, of: issuer)
            return nil
        } catch {
            return error.text
        }
    }

    @Test("a document of the issuer is read; endpoints for logins by a dialog may be absent")
    func read() throws {
        let whole = try Discovery(document(), of: Self.issuer)
        #expect(whole.authorizationEndpoint?.adding(query: "a=b") == "https://id.example.com/authorize?tenant=1&a=b")
        #expect(!whole.namesIssuer)
        let least = try Discovery(
            document(["authorization_endpoint": nil, "token_endpoint": nil]),
            of: Self.issuer
        )
        #expect(least.authorizationEndpoint == nil && least.tokenEndpoint == nil)
    }

    @Test("a document that lies, or cannot be used, is refused with the reason")
    func refused() {
        #expect(problem(Array("no".utf8)) == "is no JSON object")
        #expect(problem(Array("[]".utf8)) == "is no JSON object")
        for other in ["https://id.example.com/", "https://ID.example.com", "https://evil.example", ""] {
            #expect(problem(document(["issuer": .string(other)]))?.contains("another issuer") == true, "\(other)")
        }
        #expect(problem(document(["issuer": nil]))?.contains("another issuer") == true)
        #expect(problem(document(["jwks_uri": nil])) == "has no jwks_uri")
        for url in ["http://id.example.com/keys", "ftp://id.example.com", "https://a b", "/keys", ""] {
            #expect(problem(document(["jwks_uri": .string(url)]))?.contains("no https URL") == true, "\(url)")
            #expect(problem(document(["token_endpoint": .string(url)]))?.contains("no https URL") == true, "\(url)")
        }
        #expect(problem(document(["jwks_uri": .integer(1)]))?.contains("no https URL") == true)
    }

    private enum Event {
        case asked(String)
        case fetched(maxAge: Int64?)
        case failed
    }

    private func run(_ events: [(Double, Event)], sourceLocation: SourceLocation = #_sourceLocation) throws {
        var cache = DiscoveryCache()
        let start = ContinuousClock.now
        let document = try Discovery(document(), of: Self.issuer)
        for (second, event) in events {
            let now = start + .seconds(second)
            switch event {
            case .asked(let expected):
                let decision =
                    switch cache.decide(at: now) {
                    case .document: "document"
                    case .documentAndFetch: "document and fetch"
                    case .fetch: "fetch"
                    case .wait: "wait"
                    case .unavailable: "unavailable"
                    }
                #expect(decision == expected, "at \(second) s", sourceLocation: sourceLocation)
            case .fetched(let maxAge): cache.fetched(document, maxAge: maxAge, at: now)
            case .failed: cache.failed(Failure(.providerUnavailable, "down"), at: now)
            }
        }
    }

    @Test("a document is kept by Cache-Control within bounds, and fetched anew beside the logins")
    func kept() throws {
        try run([
            (0, .asked("fetch")), (0.1, .asked("wait")), (1, .fetched(maxAge: nil)), (299, .asked("document")),
            (301, .asked("document and fetch")), (301.5, .asked("document")), (302, .fetched(maxAge: 3600)),
            (3800, .asked("document")), (3902, .asked("document and fetch")), (3903, .fetched(maxAge: 0)),
            (4100, .asked("document")), (4203, .asked("document and fetch")), (4204, .fetched(maxAge: 10_000_000)),
            (90_000, .asked("document")), (90_700, .asked("document and fetch")),
        ])
    }

    @Test("a fetch that fails keeps what counts, for seven days; without a document logins are refused for seconds")
    func failing() throws {
        try run([
            (0, .asked("fetch")), (1, .failed), (2, .asked("unavailable")), (7, .asked("fetch")),
            (8, .fetched(maxAge: nil)), (400, .asked("document and fetch")), (401, .failed), (402, .asked("document")),
            (462, .asked("document and fetch")), (463, .failed), (604_700, .asked("document and fetch")),
            (604_701, .failed), (604_900, .asked("fetch")),
        ])
    }
}
