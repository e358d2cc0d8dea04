import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Signed tokens",
    .serialized,
    .deployed(
        Document(
            settings: #"{"tokens": {"enabled": true, "seconds": 120, "audience": "orders"}, "roles": ["courier"]}"#
        ),
        Document(application: "silent", keyVariable: "OTHER_API_KEY"),
        Document(application: "shop", keyVariable: "OTHER_API_KEY", settings: #"{"tokens": {"enabled": true}}"#),
        environment: ["FEDERATION_PUBLIC_URL": "https://users.example.com"]
    )
)
struct SignedTokenTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func token(of session: LoginResult, in document: Document? = nil) async throws -> String {
        let reply = try await deployment.get("users/token", token: session.token, of: document)
        #expect(reply.header("Cache-Control") == "no-store")
        return try #require(JSON.object(reply.text)?["token"]?.string, "\(reply.text)")
    }

    private func keySet(of application: String = "/demo", from client: HTTPClient? = nil) async throws -> [JSONObject] {
        let reply = try await (client ?? deployment.client).get(application + "/.well-known/jwks.json")
        #expect(reply.status == 200)
        let keys = try #require(JSON.object(reply.text)?["keys"]?.array).compactMap(\.object)
        // The first key signs at once, so the empty set must not be cached. The other keys are young, unless a test
        // ages them.
        let isEmpty = !keys.contains { $0["alg"]?.string == "ES256" }
        let kept = isEmpty ? ["no-store"] : ["public, max-age=60", "public, max-age=300"]
        #expect(kept.contains(reply.header("Cache-Control") ?? ""))
        return keys
    }

    @Test("nobody keeps the empty set, since the first key signs at once")
    func emptySet() async throws {
        try await deployment.database.psql("delete from federation.token_keys")
        try await eventually("the keys are forgotten") {
            try await keySet().isEmpty
        }
    }

    /// Decodes the claims of a token.
    private func claims(_ token: String) throws -> JSONObject {
        let parts = token.split(separator: ".")
        try #require(parts.count == 3)
        let bytes = try #require(Base64URL.decode(parts[1].utf8))
        return try #require(JSON.object(String(decoding: bytes, as: UTF8.self)))
    }

    private func keyID(_ token: String) throws -> String {
        let header = try #require(token.split(separator: ".").first.flatMap { Base64URL.decode($0.utf8) })
        let object = try #require(JSON.object(String(decoding: header, as: UTF8.self)))
        #expect(object["alg"]?.string == "ES256")
        #expect(object["typ"]?.string == "JWT")
        return try #require(object["kid"]?.string)
    }

    /// Verifies a token as another service would: with the published keys and `openssl`, which shares no code with us.
    private func isSigned(_ token: String, by keys: [JSONObject]) async throws -> Bool {
        let id = try keyID(token)
        guard let key = keys.first(where: { $0["kid"]?.string == id }) else { return false }
        #expect(key["kty"]?.string == "EC")
        #expect(key["crv"]?.string == "P-256")
        #expect(key["alg"]?.string == "ES256")
        #expect(key["use"]?.string == "sig")
        #expect(key["d"] == nil, "the private key stays inside")
        let point = try ["x", "y"].flatMap { try #require(Base64URL.decode((key[$0]?.string ?? "").utf8)) }
        let parts = token.split(separator: ".")
        let signature = try #require(Base64URL.decode(parts[2].utf8))
        try #require(point.count == 64 && signature.count == 64)
        // SubjectPublicKeyInfo of a point on P-256 (RFC 5480), and the signature's two numbers as ASN.1.
        let prefix: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
            0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
        ]
        let numbers = Self.integer(signature[..<32]) + Self.integer(signature[32...])
        let files: [(name: String, bytes: [UInt8])] = [
            ("key", prefix + point), ("signature", [0x30, UInt8(numbers.count)] + numbers),
            ("message", Array("\(parts[0]).\(parts[1])".utf8)),
        ]
        let folder = FileManager.default.temporaryDirectory.appending(path: "signed-token-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for file in files { try Data(file.bytes).write(to: folder.appending(path: file.name)) }
        func path(_ name: String) -> String { folder.appending(path: name).path() }
        let verified = try await run(
            "/usr/bin/env",
            [
                "openssl", "dgst", "-sha256", "-keyform", "DER", "-verify", path("key"), "-signature",
                path("signature"), path("message"),
            ],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"]
        )
        return verified.exitStatus == .exited(0)
    }

    /// Encodes a number in DER: without leading zeros, but with one in front of a set highest bit.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return [0x02, UInt8(digits.count)] + digits
    }

    @Test("another service checks one by the published keys; a changed one does not pass")
    func verification() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        let token = try await token(of: session)
        let keys = try await keySet()
        #expect(try await isSigned(token, by: keys))
        let parts = token.split(separator: ".")
        let other = try await self.token(of: try await deployment.loggedIn(try await deployment.newcomer()))
        let mixed = "\(parts[0]).\(other.split(separator: ".")[1]).\(parts[2])"
        #expect(try await !isSigned(mixed, by: keys))
    }

    @Test("each application's tokens are of its own key, name it as issuer and, unless told otherwise, as audience")
    func applications() async throws {
        let shop = deployment.documents[2]
        let visitor = try await deployment.newcomer()
        let mine = try await token(of: try await deployment.loggedIn(visitor))
        let theirs = try await token(of: try await deployment.loggedIn(visitor, to: shop), in: shop)
        let claims = try claims(theirs)
        #expect(claims["iss"]?.string == "https://users.example.com/shop")
        #expect(claims["aud"]?.string == "shop")
        #expect(try keyID(mine) != keyID(theirs))

        let (own, other) = (try await keySet(), try await keySet(of: "/shop"))
        #expect(try await isSigned(mine, by: own))
        #expect(try await isSigned(theirs, by: other))
        #expect(try await !isSigned(mine, by: other))
        #expect(try await !isSigned(theirs, by: own))
        let ids = (own + other).compactMap { $0["kid"]?.string }
        #expect(Set(ids).count == ids.count)
        let points = (own + other).compactMap { $0["x"]?.string }
        #expect(Set(points).count == points.count, "other keys, not other names of one key")
        #expect(try await keySet(of: "/silent").isEmpty)
        let all = try await keySet(of: "").compactMap { $0["kid"]?.string }
        #expect(Set(all).isSuperset(of: ids))
        for path in ["/nobody/.well-known/jwks.json", "/api/.well-known/jwks.json", "/v1/.well-known/jwks.json"] {
            try expectProblem(try await deployment.client.get(path), "not_found", "\(path)")
        }
    }

    @Test("it says who issued it, for whom, about whom, by which session, with which roles and for how long")
    func contents() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        _ = try await deployment.database.psql(
            "insert into demo.user_roles (object_id, role) values ('\(session.objectID)', 'courier')"
        )
        let before = Int64(Date().timeIntervalSince1970)
        let reply = try await deployment.get("users/token", token: session.token)
        let body = try #require(JSON.object(reply.text))
        #expect(body.keys == ["token", "expires"])
        let claims = try claims(try #require(body["token"]?.string))
        #expect(
            claims.keys == [
                "iss", "sub", "aud", "iat", "exp", "jti", "sid", "amr", "acr", "auth_time", "roles",
            ]
        )
        #expect(claims["iss"]?.string == "https://users.example.com/demo")
        #expect(claims["sub"]?.string == session.objectID)
        #expect(claims["aud"]?.string == "orders")
        let issued = try #require(claims["iat"]?.integer)
        #expect((before...before + 30).contains(issued))
        #expect(claims["exp"]?.integer == issued + 120)
        #expect(body["expires"]?.integer == (issued + 120) * 1000)
        #expect(claims["roles"]?.array?.compactMap(\.string).contains("courier") == true)
        let listed = try await deployment.get("users/sessions", token: session.token)
        #expect(JSON.value(listed.text)?.array?.first?.object?["id"]?.string == claims["sid"]?.string)
        let second = try self.claims(try await token(of: session))
        #expect(second["jti"]?.string != claims["jti"]?.string)
    }

    @Test(
        "T-61: nothing but a live session of an enabled user gets one, so there is nothing to reuse; and only where the operator has switched them on"
    )
    func refusals() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        for token in [nil, "x", try await token(of: session)] {
            try expectProblem(try await deployment.get("users/token", token: token), "session_invalid")
        }
        let silent = deployment.documents[1]
        let other = try await deployment.loggedIn(try await deployment.newcomer(), to: silent)
        try expectProblem(try await deployment.get("users/token", token: other.token, of: silent), "tokens_off")
        _ = try await deployment.database.psql(
            "update demo.users set user_status = 'DISABLED' where object_id = '\(session.objectID)'"
        )
        try expectProblem(try await deployment.get("users/token", token: session.token), "account_disabled")
        let ended = try await deployment.loggedIn(try await deployment.newcomer())
        _ = try await deployment.get("users/logout", token: ended.token)
        try expectProblem(try await deployment.get("users/token", token: ended.token), "session_invalid")
    }

    @Test("a new key is published at once and signs when it is known everywhere; tokens of the former one count on")
    func rotation() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        let first = try await token(of: session)
        let old = try keyID(first)
        let others = try await deployment.value(
            "select count(*) from federation.token_keys where application_id <> 'demo'"
        )
        let made = JSON.object(try await deployment.command("token-key", "rotate", "demo", "--json"))
        let item = try #require(made?["items"]?.array?.first?.object)
        let new = try #require(item["id"]?.string)
        #expect(item["application"]?.string == "demo")
        #expect(item["signsInSeconds"]?.integer == 600)
        #expect(
            try await deployment.value("select count(*) from federation.token_keys where application_id <> 'demo'")
                == others
        )
        try await eventually("the new key is published") { try await keySet().contains { $0["kid"]?.string == new } }
        #expect(try keyID(try await token(of: session)) == old, "others may not know the new key yet")

        // Simulate ten minutes.
        _ = try await deployment.database.psql(
            """
            update federation.token_keys set created = created - interval '601 s', retired = retired - interval '601 s'
            """
        )
        try await eventually("the new key signs") { try keyID(try await token(of: session)) == new }
        let keys = try await keySet()
        #expect(try await isSigned(first, by: keys))
        #expect(try await isSigned(try await token(of: session), by: keys))
        try await withSecondInstance(of: deployment) { second in
            let seen = try await keySet(from: second)
            #expect(seen.map { $0["kid"]?.string } == keys.map { $0["kid"]?.string })
        }

        try await eventually("the set may be kept for its usual time again") {
            try await deployment.client.get("/demo/.well-known/jwks.json").header("Cache-Control")
                == "public, max-age=300"
        }

        // Simulate the expiry of the last token of the former key.
        _ = try await deployment.database.psql(
            "update federation.token_keys set retired = retired - interval '70 min' where retired is not null"
        )
        try await eventually("the former key is gone") { try await keySet().map { $0["kid"]?.string } == [new] }
    }

    @Test("the command replaces the keys of each algorithm, and the key set tells them apart")
    func algorithms() async throws {
        _ = try await deployment.database.psql(
            """
            insert into federation.token_keys (id, application_id, secret, secret_key_id, public_key)
            values (repeat('r', 43), 'silent', 'x', 'x', '{"kty": "RSA"}')
            """
        )
        let said = try await deployment.command("token-key", "rotate", "silent")
        #expect(said.contains(/The RS256 key \S{43} of silent is published and signs in 10 minutes/), "\(said)")
        #expect(!said.contains("ES256"))
        try await eventually("the new key is published") {
            try await keySet(of: "/silent").contains { $0["kty"]?.string == "RSA" && $0["n"] != nil }
        }
        let key = try #require(try await keySet(of: "/silent").last)
        #expect(key["alg"]?.string == "RS256")
        #expect(key["e"]?.string == "AQAB")
        #expect(["x5c", "crv", "d"].allSatisfy { key[$0] == nil })
        let reply = try await deployment.client.get("/silent/.well-known/jwks.json")
        #expect(reply.header("Cache-Control") == "no-store", "the first ES256 key signs at once")
        _ = try await deployment.database.psql("delete from federation.token_keys where application_id = 'silent'")
    }

    @Test("a key that may be known to others goes at once, and so do its tokens")
    func emergency() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        let token = try await token(of: session)
        let said = try await deployment.command("token-key", "rotate", "--at-once")
        #expect(said.contains("of demo is published and signs from now on"))
        #expect(said.contains("of shop is published and signs"), "every application that gives out tokens")
        #expect(!said.contains("silent"))
        try await eventually("the keys are others") {
            let keys = try await keySet()
            let counts = try await isSigned(token, by: keys)
            return keys.count == 1 && !counts
        }
        try await eventually("tokens are of the new key") {
            try await isSigned(try await self.token(of: session), by: try await keySet())
        }
    }

    /// Whether an instance publishes a key or signs with it.
    private func goes(by key: String, at client: HTTPClient, _ session: LoginResult) async throws -> Bool {
        let published = try await keySet(from: client) + keySet(of: "", from: client)
        if published.contains(where: { $0["kid"]?.string == key }) { return true }
        let reply = try await client.get(deployment.path("users/token"), headers: [("user-token", session.token)])
        return try keyID(try #require(JSON.object(reply.text)?["token"]?.string, "\(reply.text)")) == key
    }

    @Test("no instance goes by a key that an answered rotation has removed: here at once, elsewhere within a second")
    func answeredRotation() async throws {
        let owner = try await deployment.admin()
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        let wish = #"{"application": "demo", "atOnce": true}"#
        try await withSecondInstance(of: deployment) { second in
            for _ in 0..<5 {
                // Both instances have the former key in memory.
                let former = try keyID(try await token(of: session))
                #expect(try await goes(by: former, at: deployment.client, session))
                #expect(try await goes(by: former, at: second, session))
                let made = try await owner.ask("POST", "token-keys/rotate", wish)
                let answered = ContinuousClock.now
                #expect(made["items"]?.array?.first?.object?["signsInSeconds"]?.integer == 0)
                #expect(try await !goes(by: former, at: deployment.client, session))
                let reply = try await deployment.client.get("/demo/.well-known/jwks.json")
                #expect(reply.header("Cache-Control") == "public, max-age=60")
                var asked = answered
                while asked - answered <= .seconds(1) {
                    asked = .now
                    let isLate = asked - answered > .seconds(1)
                    let isUsed = try await goes(by: former, at: second, session)
                    #expect(!(isLate && isUsed))
                }
            }
        }
    }

    @Test("the keys of an application that has been removed are published no more")
    func removedApplication() async throws {
        let owner = try await deployment.admin()
        var published = 0
        for round in 0..<5 {
            let name = "gone\(round)"
            try await owner.ask("POST", "applications", #"{"application": "\#(name)"}"#)
            let made = try await owner.ask("POST", "token-keys/rotate", #"{"application": "\#(name)"}"#)
            let id = try #require(made["items"]?.array?.first?.object?["id"]?.string)
            #expect(try await keySet(of: "").contains { $0["kid"]?.string == id })
            try await owner.ask("DELETE", "applications/\(name)?confirm=\(name)")
            if try await keySet(of: "").contains(where: { $0["kid"]?.string == id }) { published += 1 }
        }
        #expect(published == 0)
    }

    @Test("T-110: private keys are encrypted in their own row, counted, and encrypted anew with the master key")
    func storage() async throws {
        _ = try await token(of: try await deployment.loggedIn(try await deployment.newcomer()))
        let rows = try await deployment.database.psql(
            "select encode(secret, 'escape'), public_key::text, secret_key_id from federation.token_keys"
        )
        let stored = rows.joined().compactMap(\.self).joined()
        #expect(!stored.contains(#""d""#))
        let owner = try await deployment.admin()
        let keys = try #require(try await owner.get("token-keys")["items"]?.array).compactMap(\.object)
        #expect(keys.count { $0["signs"]?.bool == true && $0["application"]?.string == "demo" } == 1)
        let status = try await owner.get("secrets")["secrets"]?.array?.compactMap(\.object) ?? []
        #expect(status.compactMap { $0["tokenKeys"]?.integer }.reduce(0, +) == Int64(keys.count))
        let log = try await owner.get("audit?action=token-key.rotate")
        #expect(log["items"]?.array?.isEmpty == false || keys.count == 1)
    }

    @Test("of instances that need the first key at once one makes it")
    func firstKey() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        _ = try await deployment.database.psql("delete from federation.token_keys")
        try await eventually("the copy is old") { try await keySet().isEmpty }
        try await withSecondInstance(of: deployment) { second in
            let path = deployment.path("users/token")
            let ids = try await atOnce(20) { index in
                let client = index.isMultiple(of: 2) ? second : deployment.client
                let reply = try await client.get(path, headers: [("user-token", session.token)])
                return try keyID(try #require(JSON.object(reply.text)?["token"]?.string, "\(reply.text)"))
            }
            #expect(Set(ids).count == 1)
        }
        #expect(
            try await deployment.value("select count(*) from federation.token_keys where application_id = 'demo'")
                == "1"
        )
    }
}
