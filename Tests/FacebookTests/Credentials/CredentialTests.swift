import Domain
@testable import Facebook
import Testing

@Suite("Telling credentials apart")
struct CredentialTests {
    static let jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"

    @Test(
        "each kind of token is known by its shape",
        arguments: [
            ("EAABsbCS1iHgBAKZCqZCZBz0ZD", CredentialShape.graphToken),
            ("EAA", .graphToken),
            (jwt, .idToken),
            ("ew.e30.c2ln", .idToken),
            ("1234567890|abcdefghijklmnopqrstuvwxyz0", .appOrClientToken),
            ("EAA|x", .appOrClientToken),
            ("\(jwt)|", .appOrClientToken),
            ("123|2.AQ__.3600.1308988800-1111|x", .appOrClientToken),
            ("6bWBFf4P0Hq2", .unknown),
            ("", .unknown),
            ("eaa", .unknown),
            ("e.e.e", .unknown),
            ("eyJ", .unknown),
            ("eyJ.eyJ", .idToken),
            ("eyJ..c2ln", .idToken),
            ("eyJ.eyJ.", .idToken),
            (".eyJ.c2ln", .unknown),
            ("eyJ.eyJ.c2ln.x", .idToken),
            ("eyJ.eyJ.c2ln.x.y", .idToken),
            ("eyJ.eyJ.c2 n", .idToken),
            ("eyJ.eyJ.c2+n", .idToken),
            ("bm8.eyJ.c2ln", .unknown),
            ("EAA.eyJ.c2ln", .graphToken),
            ("EAA\u{0301}", .graphToken),
        ]
    )
    func shapes(token: String, shape: CredentialShape) {
        #expect(CredentialShape(of: token) == shape)
    }

    /// Every combination of the three credentials, each absent, empty or present, with and without companion fields.
    @Test(
        "T-10: exactly one credential is picked, and two are never tried in turn",
        arguments: [nil, "", "x"] as [String?]
    )
    func combinations(companion: String?) {
        for accessToken in [nil, "", "EAAx"] as [String?] {
            for idToken in [nil, "", Self.jwt] as [String?] {
                for code in [nil, "", "AQBx"] as [String?] {
                    let fields = CredentialFields(
                        accessToken: accessToken,
                        idToken: idToken,
                        nonce: companion,
                        code: code,
                        redirectURI: companion,
                        codeVerifier: companion
                    )
                    let given = [accessToken, idToken, code].filter { $0?.isEmpty == false }.count
                    switch given {
                    case 0: #expect(reason(fields) == .credentialMissing)
                    case 1 where code == "AQBx" && companion != "x": #expect(reason(fields) == .credentialMissing)
                    case 1: #expect(reason(fields) == nil)
                    default: #expect(reason(fields) == .credentialAmbiguous)
                    }
                }
            }
        }
    }

    @Test("T-13: an empty, absent or null credential is missing")
    func missing() {
        #expect(reason(CredentialFields()) == .credentialMissing)
        #expect(reason(CredentialFields(accessToken: "")) == .credentialMissing)
        #expect(
            reason(CredentialFields(nonce: "n", redirectURI: "https://a.example/", codeVerifier: "v"))
                == .credentialMissing
        )
    }

    @Test("a Graph token is an access token and keeps its text")
    func graphToken() throws {
        let credential = try Credential(CredentialFields(accessToken: "EAAx", nonce: "n"))
        guard case .accessToken(let token) = credential else {
            Issue.record("picked \(credential)")
            return
        }
        #expect(token.reveal() == "EAAx")
    }

    @Test("a token of unknown shape is left to Graph to judge")
    func unknown() throws {
        guard case .accessToken(let token) = try Credential(CredentialFields(accessToken: "6bWBFf4P")) else {
            Issue.record("not picked as an access token")
            return
        }
        #expect(token.reveal() == "6bWBFf4P")
    }

    @Test("a JWT sent as accessToken is taken for the ID token that it is")
    func jwtAsAccessToken() throws {
        let credential = try Credential(CredentialFields(accessToken: Self.jwt, nonce: "n"))
        guard case .idToken(let token, let nonce) = credential else {
            Issue.record("picked \(credential)")
            return
        }
        #expect(token.reveal() == Self.jwt)
        #expect(nonce?.reveal() == "n")
    }

    @Test(
        "a token of another kind is refused",
        arguments: [
            CredentialFields(accessToken: "123|secret"),
            CredentialFields(idToken: "123|secret"),
            CredentialFields(idToken: "EAAx"),
            CredentialFields(idToken: "6bWBFf4P"),
        ]
    )
    func wrongKind(fields: CredentialFields) {
        #expect(reason(fields) == .credentialWrongKind)
    }

    @Test("a code comes with its redirect URI, and with the verifier if there is one")
    func code() throws {
        let fields = CredentialFields(code: "AQBx", redirectURI: "https://a.example/", codeVerifier: "v")
        guard case .code(let code, "https://a.example/", let verifier) = try Credential(fields) else {
            Issue.record("not picked as a code")
            return
        }
        #expect(code.reveal() == "AQBx")
        #expect(verifier?.reveal() == "v")
    }

    @Test("a login code is a credential of its own")
    func loginCode() throws {
        guard
            case .loginCode(let code, let verifier) = try Credential(
                CredentialFields(codeVerifier: "v", loginCode: "x")
            )
        else {
            Issue.record("not picked as a login code")
            return
        }
        #expect(code.reveal() == "x")
        #expect(verifier?.reveal() == "v")
        #expect(
            reason(CredentialFields(code: "c", redirectURI: "https://a.example/", loginCode: "x"))
                == .credentialAmbiguous
        )
    }

    @Test("T-110: no message and no description holds the token")
    func canary() throws {
        let canary = "CANARY4711"
        let all = [
            CredentialFields(accessToken: "\(canary)|x"), CredentialFields(idToken: canary),
            CredentialFields(code: canary), CredentialFields(accessToken: canary, code: canary),
        ]
        for fields in all {
            let failure = #expect(throws: Failure.self) { try Credential(fields) }
            #expect(!String(reflecting: failure).contains(canary))
        }
        let credential = try Credential(CredentialFields(accessToken: canary))
        #expect(!String(reflecting: credential).contains(canary))
        #expect(!"\(credential)".contains(canary))
    }

    private func reason(_ fields: CredentialFields) -> Failure.Reason? {
        do throws(Failure) {
            _ = try Credential(fields)
            return nil
        } catch {
            return error.reason
        }
    }
}
