import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The nonce of an ID token, by the application's policy",
    .serialized,
    .deployed(
        Document(mapping: #"{"email": "email"}"#),
        Document(application: "strict", options: #""nonce": "serverIssued""#, mapping: #"{"email": "email"}"#),
        Document(application: "strict2", options: #""nonce": "serverIssued""#, mapping: #"{"email": "email"}"#),
        Document(application: "loose", options: #""nonce": "off""#, mapping: #"{"email": "email"}"#),
        Document(application: "brief", options: #""idTokenSeconds": 300"#, mapping: #"{"email": "email"}"#)
    )
)
struct IDTokenNonceTests {
    let deployment: Deployment
    private var strict: Document { deployment.documents[1] }

    init() throws { deployment = try Deployment.current }

    @Test("T-27: clientMade takes the nonce of the request, raw or hashed, or a token by itself, and nothing else")
    func clientMade() async throws {
        let ann = try await deployment.newcomer()
        // SHA-256 of "abc" (FIPS 180-2, appendix B.1).
        let hashed = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        for (claim, given, isTaken) in [
            ("abc", "abc", true), (hashed, "abc", true), ("abc", nil, true), ("", nil, true), ("abc", "abd", false),
            ("", "abc", false), ("abc", hashed, false), (hashed.uppercased(), "abc", false),
        ] as [(String, String?, Bool)] {
            let token = try await deployment.idToken(of: ann, #""nonce": "\#(claim)""#)
            let reply = try await deployment.login(idToken: token, nonce: given)
            if isTaken {
                #expect(reply.status == 200, "\(claim)")
            } else {
                try expectProblem(reply, "credential_invalid")
            }
        }
    }

    @Test("T-27: a token that is bound to a key of the device needs its nonce, unless the policy is off")
    func bound() async throws {
        let ann = try await deployment.newcomer()
        let loose = deployment.documents[3]
        func token() async throws -> String {
            try await deployment.idToken(of: ann, #""nonce": "abc", "jkt": "0ZcOCORZNYy""#)
        }
        try expectProblem(try await deployment.login(idToken: try await token()), "credential_invalid")
        #expect(try await deployment.login(idToken: try await token(), nonce: "abc").status == 200)
        let refreshed = try await token()
        #expect(try await deployment.login(idToken: refreshed, to: loose).status == 200)
        try expectProblem(try await deployment.login(idToken: refreshed, to: loose), "credential_replayed")
        // For other tokens the rules of clientMade apply there, too.
        let plain = try await deployment.idToken(of: ann, #""nonce": "abc""#)
        try expectProblem(try await deployment.login(idToken: plain, nonce: "abd", to: loose), "credential_invalid")
    }

    @Test("T-27: serverIssued takes a nonce of ours, once, in the token and, if it is given, in the request")
    func serverIssued() async throws {
        let ann = try await deployment.newcomer()
        let nonce = try await deployment.nonce(for: strict)
        #expect(nonce.utf8.count == 43)
        let good = try await deployment.idToken(of: ann, #""nonce": "\#(nonce)""#)
        for (claim, given) in [
            ("", nil), ("abc", nil), ("abc", "abc"), (nonce, "abc"), ("abc", nonce),
            (String(nonce.dropLast()) + "_", nil),
            (try await deployment.nonce(for: deployment.documents[2]), nil), (try await deployment.nonce(), nil),
        ] as [(String, String?)] {
            let token = try await deployment.idToken(of: ann, #""nonce": "\#(claim)""#)
            try await deployment.expectNothingWritten {
                try expectProblem(
                    try await deployment.login(idToken: token, nonce: given, to: strict),
                    "credential_invalid",
                    "\(claim) \(given ?? "-")"
                )
            }
        }
        #expect(try await deployment.login(idToken: good, nonce: nonce, to: strict).status == 200)
        let again = try await deployment.idToken(of: ann, #""nonce": "\#(nonce)""#)
        try expectProblem(try await deployment.login(idToken: again, to: strict), "credential_invalid", "used")
        let next = try await deployment.nonce(for: strict)
        let token = try await deployment.idToken(of: ann, #""nonce": "\#(next)""#)
        #expect(try await deployment.login(idToken: token, to: strict).status == 200)
    }

    @Test("a nonce that nobody uses takes no room, and says when it ends")
    func room() async throws {
        try await deployment.expectNothingWritten {
            var seen: Set<String> = []
            for _ in 0..<200 { seen.insert(try await deployment.nonce(for: strict)) }
            #expect(seen.count == 200)
        }
        let before = try await deployment.value("select now()")
        let reply = try await deployment.client.post(deployment.path("users/nonce"), json: "")
        #expect(reply.header("Cache-Control") == "no-store")
        let expires = try #require(JSON.object(reply.text)?["expires"]?.integer)
        let left = try await deployment.value(
            "select extract(epoch from to_timestamp(\(expires) / 1000.0) - '\(try #require(before))'::timestamptz)::int"
        )
        let seconds = try #require(left.flatMap { Int($0) })
        #expect((590...605).contains(seconds))
        try expectProblem(try await deployment.client.get(deployment.path("users/nonce")), "method_not_allowed")
    }

    @Test("an application may take younger tokens alone")
    func brief() async throws {
        let ann = try await deployment.newcomer()
        let brief = deployment.documents[4]
        let young = try await deployment.idToken(of: ann, #""iatOffset": -200"#)
        #expect(try await deployment.login(idToken: young, to: brief).status == 200)
        let old = try await deployment.idToken(of: ann, #""iatOffset": -310"#)
        try expectProblem(try await deployment.login(idToken: old, to: brief), "credential_expired")
    }
}
