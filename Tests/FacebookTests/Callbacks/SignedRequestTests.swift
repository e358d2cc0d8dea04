import Crypto
import Domain
import Encodings
import Facebook
import FoundationEssentials
import Testing

@Suite("Reading a signed_request (docs/protocols/facebook.md §5.1)")
struct SignedRequestTests {
    static let now: Int64 = 1_795_000_000

    @Test(
        "docs/protocols/facebook.md §7.2: what other projects hold to be signed requests is read as they do",
        arguments: Vector.all
    )
    func vectors(vector: Vector) throws {
        let apps = [try Self.app("1", secret: "not this one"), try Self.app("2", secret: vector.secret)]
        if let subject = vector.subject {
            let request = try SignedRequest(vector.request, apps: apps, now: vector.issuedAt + 60)
            #expect(request.appID.text == "2", "the app whose secret fits is the one that was called")
            #expect(request.subject.text == subject)
            #expect(request.issuedAt == vector.issuedAt)
            #expect(Self.refusal(vector.request, apps: apps, now: vector.issuedAt + 86_401) == "older than a day")
        } else {
            #expect(Self.refusal(vector.request, apps: apps, now: vector.issuedAt + 60) == "user_id")
        }

        #expect(
            Self.refusal(vector.request, apps: [apps[0]], now: vector.issuedAt) == "signature",
            "T-118: another key"
        )
        #expect(Self.refusal(vector.request, apps: [], now: vector.issuedAt) == "signature")
    }

    @Test("T-118: a change of any byte of what was signed, or of the signature, is found")
    func altered() throws {
        let text = Array(Self.signed(#"{"algorithm":"HMAC-SHA256","user_id":"1","issued_at":\#(Self.now)}"#).utf8)
        for index in text.indices where text[index] != UInt8(ascii: ".") {
            var altered = text
            altered[index] = altered[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            // The last character of an encoded signature of 32 bytes has two unused bits.
            if altered[index] >> 2 == text[index] >> 2 { continue }
            let refusal = Self.refusal(String(decoding: altered, as: UTF8.self))
            #expect(refusal != nil, "byte \(index)")
        }
    }

    @Test(
        "T-118: a signature by our secret does not make up for what the payload lacks",
        arguments: [
            (#"{"algorithm":"none","user_id":"1","issued_at":NOW}"#, "algorithm"),
            (#"{"algorithm":"HMAC-SHA1","user_id":"1","issued_at":NOW}"#, "algorithm"),
            (#"{"algorithm":"hmac-sha256","user_id":"1","issued_at":NOW}"#, "algorithm"),
            (#"{"user_id":"1","issued_at":NOW}"#, "algorithm"),
            (#"{"algorithm":"HMAC-SHA256","issued_at":NOW}"#, "user_id"),
            (#"{"algorithm":"HMAC-SHA256","user":{"id":"1"},"issued_at":NOW}"#, "user_id"),
            (#"{"algorithm":"HMAC-SHA256","user_id":"","issued_at":NOW}"#, "user_id"),
            (#"{"algorithm":"HMAC-SHA256","user_id":"1 or 1=1","issued_at":NOW}"#, "user_id"),
            (#"{"algorithm":"HMAC-SHA256","user_id":0,"issued_at":NOW}"#, "user_id"),
            (#"{"algorithm":"HMAC-SHA256","user_id":1e1,"issued_at":NOW}"#, "user_id"),
            (#"{"algorithm":"HMAC-SHA256","user_id":-1,"issued_at":NOW}"#, "user_id"),
            (#"{"algorithm":"HMAC-SHA256","user_id":["1"],"issued_at":NOW}"#, "user_id"),
            (#"{"algorithm":"HMAC-SHA256","user_id":"1"}"#, "issued_at"),
            (#"{"algorithm":"HMAC-SHA256","user_id":"1","issued_at":"soon"}"#, "issued_at"),
            (#"{"algorithm":"HMAC-SHA256","user_id":"1","issued_at":99999999999999999999}"#, "issued_at"),
            (#"{"algorithm":"HMAC-SHA256","user_id":"1","issued_at":9223372036854775807}"#, "in the future"),
            (#"{"algorithm":"HMAC-SHA256","user_id":"1","user_id":"2","issued_at":NOW}"#, "JSON object"),
            (#"["HMAC-SHA256"]"#, "JSON object"), ("not json", "JSON object"), ("", "JSON object"),
        ]
    )
    func payloads(payload: String, problem: String) {
        #expect(Self.refusal(Self.signed(payload.replacing("NOW", with: "\(Self.now)"))) == problem)
    }

    @Test(
        "T-118: what has not the form of a signed request is refused",
        arguments: ["", ".", "a", "a.b.c", ".eyJ9", "é.é", "====.e30", "a b.e30", "%.e30", "e30."]
    )
    func forms(text: String) {
        #expect(Self.refusal(text) != nil)
    }

    @Test(
        "T-118: what Facebook has signed for a client of the app does not pass for its own call",
        arguments: [#""code": "c""#, #""oauth_token": "EAAx""#, #""profile_id": "1""#, #""page": {"id": "1"}"#]
    )
    func ofClients(member: String) throws {
        let common = #""algorithm": "HMAC-SHA256", "user_id": "1", "issued_at": \#(Self.now)"#
        let own = try Self.callback("signed_request=" + Self.signed("{\(common)}"))
        #expect(!own.isForClients)
        let text = Self.signed("{\(common), \(member)}")
        let failure = #expect(throws: Failure.self) {
            try Self.callback("signed_request=" + text)
        }
        #expect(failure?.reason == .malformedRequest)
    }

    @Test("fields beside signed_request lose no call, and a form without it, or with two, is none")
    func fields() throws {
        let payload = #"{"algorithm":"HMAC-SHA256","user_id":"1","issued_at":\#(Self.now)}"#
        let field = "signed_request=" + Self.signed(payload)
        #expect(try Self.callback("state=1&\(field)&signed_request_version=2").subject.text == "1")
        for form in ["", "state=1", "Signed_request=a.b", "\(field)&\(field)"] {
            let failure = #expect(throws: Failure.self, "\(form)") { try Self.callback(form) }
            #expect(failure?.reason == .malformedRequest)
        }
        let failure = #expect(throws: Failure.self) { try Self.callback("") }
        #expect(failure?.message == "The form has no signed_request.")
    }

    @Test(
        "a member of a client's that is null is as good as absent, so that no call of Facebook's is lost",
        arguments: ["code", "oauth_token", "page", "profile_id"]
    )
    func nullMembers(member: String) throws {
        let text = Self.signed(
            #"{"algorithm": "HMAC-SHA256", "user_id": "1", "issued_at": \#(Self.now), "\#(member)": null}"#
        )
        let request = try Self.callback("signed_request=" + text)
        #expect(request.subject.text == "1")
    }

    @Test("T-118: an unsigned request is refused, and one that is too long before anything is hashed")
    func unsigned() {
        let payload = Self.encoded(Array(#"{"algorithm":"HMAC-SHA256","user_id":"1","issued_at":\#(Self.now)}"#.utf8))
        #expect(Self.refusal("." + payload) != nil)
        #expect(Self.refusal(payload) != nil)
        let long =
            #"{"algorithm":"HMAC-SHA256","user_id":"1","issued_at":\#(Self.now),"x":"\#(String(repeating: "x", count: 16_384))"}"#
        #expect(Self.refusal(Self.signed(long)) == "too long")
    }

    @Test(
        "T-118: a request counts for a day, and from five minutes before its time",
        arguments: [(-86_400, true), (-86_401, false), (-2 * 86_400, false), (300, true), (301, false)]
    )
    func age(offset: Int64, isTaken: Bool) {
        let payload = #"{"algorithm":"HMAC-SHA256","user_id":"1","issued_at":\#(Self.now + offset)}"#
        #expect((Self.refusal(Self.signed(payload)) == nil) == isTaken)
    }

    @Test("the same request has the same hash however its signature is written, another one or another app has another")
    func hash() throws {
        func hash(_ text: String, _ app: String = "1") throws -> [UInt8] {
            try SignedRequest(text, apps: [Self.app(app)], now: Self.now).hash
        }
        let payload = #"{"algorithm":"HMAC-SHA256","user_id":"1","issued_at":\#(Self.now)}"#
        let text = Self.signed(payload)
        let standard = String(text.prefix { $0 != "." }).replacing("-", with: "+").replacing("_", with: "/") + "="
        #expect(try hash(text) == hash(standard + String(text.trimmingPrefix { $0 != "." })))
        #expect(try hash(text) != hash(text, "2"))
        #expect(try hash(text) != hash(Self.signed(payload + " ")))
        #expect(try hash(text).count == 32)
    }

    // MARK: Signing

    static func app(_ id: String, secret: String = "our secret") throws -> ProviderApp {
        ProviderApp(id: try #require(ProviderAppID(id)), secret: Secret(secret))
    }

    static func signed(_ payload: String, secret: String = "our secret") -> String {
        let text = encoded(Array(payload.utf8))
        let key = SymmetricKey(data: Data(secret.utf8))
        return encoded(Array(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))) + "." + text
    }

    private static func callback(_ form: String) throws -> SignedRequest {
        try SignedRequest(callback: FormFields(form), apps: [app("1")], now: now)
    }

    static func encoded(_ bytes: [UInt8]) -> String { Base64URL.encode(bytes) }

    /// Returns the known part of the refusal's message; nil when the signed request is accepted.
    static func refusal(_ text: String, apps: [ProviderApp]? = nil, now: Int64 = Self.now) -> String? {
        do {
            let apps = try apps ?? [app("1")]
            _ = try SignedRequest(text, apps: apps, now: now)
            return nil
        } catch {
            guard let error = error as? Failure, error.reason == .malformedRequest else { return "\(error)" }
            let known = [
                "too long", "older than a day", "in the future", "algorithm", "user_id", "issued_at", "JSON object",
                "separated by a dot", "signature",
            ]
            return known.first { error.message.contains($0) } ?? error.message
        }
    }
}

/// A signed request from another project's tests (docs/protocols/facebook.md §7.2).
struct Vector: Sendable, CustomTestStringConvertible {
    let source: String
    let secret: String
    let request: String
    /// The subject; nil for a request without one.
    let subject: String?
    let issuedAt: Int64

    var testDescription: String { source }

    static let all = [
        Vector(
            source: "simi/omniauth-facebook:test/fixtures/signed_request.txt",
            secret: "897z956a2z7zzzzz5783z458zz3z7556",
            request: """
                53umfudisP7mKhsi9nZboBg15yMZKhfQAARL9UoZtSE.eyJhbGdvcml0aG0iOiJITUFDLVNIQTI1NiIsImV4cGlyZXMiOjEz\
                MDg5ODg4MDAsImlzc3VlZF9hdCI6MTMwODk4NTAxOCwib2F1dGhfdG9rZW4iOiIxMTExMTExMTExMTExMTF8Mi5BUUJBdHRS\
                bExWbndxTlBaLjM2MDAuMTExMTExMTExMS4xLTExMTExMTExMTExMTExMXxUNDl3M0Jxb1pVZWd5cHJ1NTFHcmE3MGhFRDgi\
                LCJ1c2VyIjp7ImNvdW50cnkiOiJkZSIsImxvY2FsZSI6ImVuX1VTIiwiYWdlIjp7Im1pbiI6MjF9fSwidXNlcl9pZCI6IjEx\
                MTExMTExMTExMTExMSJ9
                """,
            subject: "111111111111111",
            issuedAt: 1_308_985_018
        ),
        Vector(
            source: "arsduo/koala:spec/fixtures/facebook_data.yml (signed params, app 119908831367602)",
            secret: "e45e55a333eec232d4206d2703de1307",
            request: """
                zWRm0gd5oHW_jzXP_WA9CirO7c5CLHotn-SKRqH2NmU.eyJhbGdvcml0aG0iOiJITUFDLVNIQTI1NiIsImV4cGlyZXMiOjEz\
                MDE5MjIwMDAsImlzc3VlZF9hdCI6MTMwMTkxNzI5OSwib2F1dGhfdG9rZW4iOiIxMTk5MDg4MzEzNjc2MDJ8Mi56VkZfNk5y\
                TUVMSHVKYTRnSVU5dEt3X18uMzYwMC4xMzAxOTIyMDAwLTI5MDU2MjN8emdxUHNyMkJHOUxvT0s5a2VrR2dSVVJaeDBrIiwi\
                dXNlciI6eyJjb3VudHJ5IjoiZGUiLCJsb2NhbGUiOiJkZV9ERSIsImFnZSI6eyJtaW4iOjIxfX0sInVzZXJfaWQiOiIyOTA1\
                NjIzIn0
                """,
            subject: "2905623",
            issuedAt: 1_301_917_299
        ),
        Vector(
            source: "arsduo/koala:spec/fixtures/facebook_data.yml (fbsr cookie)",
            secret: "e45e55a333eec232d4206d2703de1307",
            request: """
                f1--LHwjHVCxfs97hRHL-4cF-0jNxZRc6MGzo1qHLb0.eyJhbGdvcml0aG0iOiJITUFDLVNIQTI1NiIsImNvZGUiOiIyLkFR\
                Qm90a0pBWlhVY1l3RkMuMzYwMC4xMzE0ODEzNjAwLjEtMjkwNTYyM3x4V2xya0d0UmJIZlpIclRnVWwxQmxJcVhRbjQiLCJp\
                c3N1ZWRfYXQiOjEzMTQ4MDY2NTUsInVzZXJfaWQiOiIyOTA1NjIzIn0
                """,
            subject: "2905623",
            issuedAt: 1_314_806_655
        ),
        Vector(
            source: "facebookarchive/php-graph-sdk:tests/SignedRequestTest.php (padded",
            secret: "foo_app_secret",
            request: """
                U0_O1MqqNKUt32633zAkdd2Ce-jGVgRgJeRauyx_zC8=.eyJvYXV0aF90b2tlbiI6ImZvb190b2tlbiIsImFsZ29yaXRobSI\
                6IkhNQUMtU0hBMjU2IiwiaXNzdWVkX2F0IjozMjEsImNvZGUiOiJmb29fY29kZSIsInN0YXRlIjoiZm9vX3N0YXRlIiwidXN\
                lcl9pZCI6MTIzLCJmb28iOiJiYXIifQ==
                """,
            subject: "123",
            issuedAt: 321
        ),
        Vector(
            source:
                "restfb/restfb:src/test/java/com/restfb/SignedRequestTest.java (standard base64 with `+`, padded, whitespace in JSON)",
            secret: "secret",
            request: """
                uLQw26KrDdDhZA+Cbvhjm1Y5SB1LiUej9tAXWWXhb9s=.ewogICAib2F1dGhfdG9rZW4iOiAie3VzZXItYWNjZXNzLXRva2V\
                ufSIsCiAgICJhbGdvcml0aG0iOiAiSE1BQy1TSEEyNTYiLAogICAiZXhwaXJlcyI6IDEyOTE4NDA0MDAsCiAgICJpc3N1ZWR\
                fYXQiOiAxMjkxODM2ODAwLAogICAidXNlcl9pZCI6ICIyMTg0NzEiCn0=
                """,
            subject: "218471",
            issuedAt: 1_291_836_800
        ),
        Vector(
            source: "bk-rs/facebook-rs:facebook-signed-request/src/lib.rs",
            secret: "key",
            request: """
                Mf_s6nTb38UYqioBmPqu0Ewm9souPZB9I2fIGwV729U.eyJ1c2VyX2lkIjoiMCIsImFsZ29yaXRobSI6IkhNQUMtU0hBMjU2\
                IiwiaXNzdWVkX2F0IjoxNjI0MjQ0MTU2fQ
                """,
            subject: nil,
            issuedAt: 1_624_244_156
        ),
    ]
}
