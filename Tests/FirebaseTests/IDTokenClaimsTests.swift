import Domain
import Encodings
@testable import Firebase
import Testing

@Suite("The claims of an ID token")
struct IDTokenClaimsTests {
    private static let now: Int64 = 1_800_000_000
    private static let claims: JSONObject = [
        "iss": .string("https://securetoken.google.com/canary-project"), "aud": .string("canary-project"),
        "exp": .integer(now + 1), "jti": .string(Base64URL.encode((0..<40).map { UInt8($0) })),
    ]

    private func session(_ claims: JSONObject) -> SessionKey? {
        IDTokenClaims.session(in: claims, of: "canary-project", now: Self.now)
    }

    @Test("name a session, if they are of the project and have not expired")
    func valid() { #expect(session(Self.claims)?.hash == (0..<32).map { UInt8($0) }) }

    @Test(
        "name no session otherwise",
        arguments: [
            ("iss", .string("https://securetoken.google.com/other-project")),
            ("iss", .string("https://session.firebase.google.com/canary-project")), ("iss", .string("canary-project")),
            ("aud", .string("other-project")), ("aud", .array([.string("canary-project")])), ("aud", nil),
            ("exp", .integer(now)), ("exp", .string("1800000001")), ("exp", nil), ("jti", nil),
            ("jti", .string("short")),
        ] as [(String, JSONValue?)]
    )
    func invalid(name: String, value: JSONValue?) {
        var claims = JSONObject(Self.claims.members.filter { $0.key != name })
        if let value { claims.append(name, value) }
        #expect(session(claims) == nil, "\(name)")
    }
}
