import GraphSimulator
import Testing

@Suite("permissions end")
struct PermissionRemovalTests {
    private static func delete(_ simulator: GraphSimulator, _ target: String) async throws -> Wire.Reply {
        let wire = try await Wire.connect(to: simulator.port)
        try await wire.send(Wire.request("DELETE", target))
        let reply = try await wire.reply()
        await wire.close()
        return reply
    }

    @Test(
        "one permission, by every way to say so",
        arguments: [
            ("DELETE", "/v25.0/me/permissions/email"), ("DELETE", "/123/permissions/email"),
            ("POST", "/me/permissions/email"),
        ]
    )
    func one(_ method: String, _ path: String) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let reply =
                method == "DELETE"
                ? try await Self.delete(simulator, "\(path)?access_token=\(token)")
                : try await Wire.post(simulator, path, form: "method=delete&access_token=\(token)")
            #expect(reply.status == 200)
            #expect(reply.text == #"{"success":true}"#)
            #expect(try await Wire.get(simulator, "/me?fields=email&access_token=\(token)").text == #"{"id":"123"}"#)
            #expect(
                try await Wire.get(simulator, "/me/permissions?access_token=\(token)").text
                    .contains(#"{"permission":"email","status":"declined"}"#)
            )
        }
    }

    @Test("all of them: every token and code of that person and app is worth nothing, and no other")
    func all() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let second = try simulator.mint(.short, person: "ann").text
            let ended = try simulator.mint(.passwordChanged, person: "ann").text
            let elsewhere = try simulator.mint(.long, person: "ann", app: SampleWorld.otherApp).text
            let other = try simulator.mint(.long, person: "dora").text
            let code = try simulator.code(person: "ann", redirectURI: "https://a.example/")

            #expect(
                try await Self.delete(simulator, "/me/permissions?access_token=\(token)").text == #"{"success":true}"#
            )
            for (text, expected) in [
                (token, "The user has not authorized application \(SampleWorld.app)."),
                (second, #""error_subcode":458"#),
                (ended, #""error_subcode":460"#), (elsewhere, #""name":"Ann"#), (other, #""name":"Dora"#),
            ] {
                #expect(try await Wire.get(simulator, "/me?access_token=\(text)").text.contains(expected))
            }
            let exchange =
                "client_id=\(SampleWorld.app)&client_secret=\(SampleWorld.secret)&redirect_uri=https://a.example/"
                + "&code=\(code)"
            #expect(
                try await Wire.post(simulator, "/oauth/access_token", form: exchange).text
                    .contains("Invalid verification code format.")
            )
            #expect(try await Self.delete(simulator, "/me/permissions?access_token=\(token)").text.contains("458"))
        }
    }

    @Test("an app token removes any of the app's users, by id")
    func appToken() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let query = "access_token=\(SampleWorld.encodedAppToken)"
            #expect(try await Self.delete(simulator, "/me/permissions?\(query)").text.contains("2500"))
            #expect(try await Self.delete(simulator, "/999/permissions?\(query)").text.contains("with ID '999'"))
            #expect(try await Self.delete(simulator, "/123/permissions?\(query)").status == 200)
            #expect(try await Wire.get(simulator, "/me?access_token=\(token)").text.contains("458"))
        }
    }

    @Test("tokens, proofs and ids are checked as elsewhere")
    func refused() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let other = try simulator.mint(.long, person: "dora").text
            simulator.update(app: SampleWorld.app) { $0.requireProof = true }
            for (target, text) in [
                ("/me/permissions", "2500"), ("/123/permissions", #""code":104"#),
                ("/me/permissions?access_token=\(token)", "require an appsecret_proof"),
                (
                    "/123/permissions?access_token=\(other)"
                        + "&appsecret_proof=\(GraphSimulator.proof(token: other, secret: SampleWorld.secret))",
                    "Unsupported delete request. Object with ID '123'"
                ),
            ] {
                let reply = try await Self.delete(simulator, target)
                #expect(reply.status == 400)
                #expect(reply.text.contains(text))
            }
            let proof = GraphSimulator.proof(token: token, secret: SampleWorld.secret)
            let target = "/me/permissions?access_token=\(token)&appsecret_proof=\(proof)"
            #expect(try await Wire.get(simulator, target).status == 200)
            simulator.add(.init(.error(.init(code: 2)), path: "me/permissions", count: 1))
            #expect(try await Self.delete(simulator, target).status == 503)
            #expect(try await Wire.get(simulator, target).status == 200)
            #expect(try await Self.delete(simulator, target).status == 200)
            #expect(try await Wire.get(simulator, target).text.contains("458"))
        }
    }

    @Test("Limited Login uninstalls with an ID token, even when it has expired or its key has gone")
    func uninstall() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let idToken = try simulator.idToken(person: "ann")
            simulator.advanceClock(bySeconds: 86400)
            try simulator.rotateKeys()
            try simulator.rotateKeys()
            let form = "app_id=\(SampleWorld.app)&id_token=\(idToken)"
            let reply = try await Wire.post(simulator, "/platform/uninstall/", form: form)
            #expect(reply.text == #"{"success":true}"#)
            #expect(try await Wire.get(simulator, "/me?access_token=\(token)").text.contains("458"))
        }
    }

    /// The signature and the claims of the ID token, and the app that the request names.
    static let forged: [(GraphSimulator.IDTokenSignature, GraphSimulator.JSON, String)] = [
        (.unknown, [:], SampleWorld.app), (.broken, [:], SampleWorld.app), (.none, [:], SampleWorld.app),
        (.hs256WithPublicKey(.pem), [:], SampleWorld.app), (.rs512, [:], SampleWorld.app),
        (.newest, [:], SampleWorld.otherApp), (.newest, [:], "9"), (.newest, ["sub": "999"], SampleWorld.app),
        (.newest, ["aud": nil], SampleWorld.app),
    ]

    @Test("a forged ID token, or another app's, uninstalls nothing", arguments: forged.indices)
    func forgery(_ index: Int) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let (signature, claims, app) = Self.forged[index]
            let idToken = try simulator.idToken(claims: claims, signature: signature)
            let form = "app_id=\(app)&id_token=\(idToken)"
            #expect(try await Wire.post(simulator, "/platform/uninstall/", form: form).status == 400)
            #expect(try await Wire.get(simulator, "/me?access_token=\(token)").status == 200)
        }
    }
}
