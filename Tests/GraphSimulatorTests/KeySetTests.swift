import CryptoExtras
import Foundation
import GraphSimulator
import Testing

@Suite("the keys of ID tokens")
struct KeySetTests {
    @Test("there are two, RSA of 2048 bits, named by 40 hexadecimal digits, the same after each start")
    func keySet() async throws {
        var seen: [String] = []
        for _ in 0..<2 {
            try await SampleWorld.run { simulator in
                let reply = try await Wire.get(simulator, "/.well-known/oauth/openid/jwks/")
                #expect(reply.status == 200)
                #expect(reply.header("content-type") == "application/json; charset=UTF-8")
                #expect(reply.header("facebook-api-version") == nil)
                #expect(reply.header("access-control-allow-origin") == nil)
                let keys = try await JWT.keys(of: simulator)
                #expect(keys.count == 2)
                for key in keys {
                    #expect(key.members?.map(\.name) == ["kid", "kty", "alg", "use", "n", "e"])
                    #expect(
                        ["kty", "alg", "use", "e"].compactMap { key[$0]?.string } == ["RSA", "RS256", "sig", "AQAB"]
                    )
                    #expect(try JWT.publicKey(key).keySizeInBits == 2048)
                    #expect(try #require(key["kid"]?.string).wholeMatch(of: /[0-9a-f]{40}/) != nil)
                }
                #expect(keys.compactMap { $0["kid"]?.string } == simulator.keys)
                seen += simulator.keys
            }
        }
        #expect(Set(seen).count == 2)
    }

    @Test(
        "the addresses end with a slash, and who forgets it is sent there",
        arguments: [
            ".well-known/oauth/openid/jwks", ".well-known/openid-configuration",
        ]
    )
    func slash(_ path: String) async throws {
        try await SampleWorld.run { simulator in
            let reply = try await Wire.get(simulator, "/\(path)")
            #expect(reply.status == 301)
            #expect(reply.header("location") == "/\(path)/")
            #expect(reply.body.isEmpty)
            #expect(try await Wire.get(simulator, "/\(path)/").status == 200)
            #expect(try await Wire.get(simulator, "/v25.0/\(path)/").text.contains("Unknown path components"))
            #expect(try await Wire.post(simulator, "/\(path)/", form: "").text.contains("Unknown path components"))
        }
    }

    @Test("the discovery document names Facebook as issuer and this simulator's addresses")
    func discovery() async throws {
        try await SampleWorld.run { simulator in
            let reply = try await Wire.get(simulator, "/.well-known/openid-configuration/")
            let document = try GraphSimulator.JSON(parsing: reply.body)
            #expect(document["issuer"] == "https://www.facebook.com")
            #expect(document["jwks_uri"] == "http://graph.facebook.com/.well-known/oauth/openid/jwks/")
            #expect(document["authorization_endpoint"] == "http://graph.facebook.com/dialog/oauth/")
            #expect(document["id_token_signing_alg_values_supported"] == ["RS256"])
            #expect(document["token_endpoint"] == nil)
        }
    }

    @Test("a rotation brings a key, which signs, and takes the oldest; that one can still be asked to sign")
    func rotation() async throws {
        try await Control.run { simulator, control in
            let before = simulator.keys
            let listing = try await control.post("/keys/rotate", "")
            let after = simulator.keys
            #expect(listing["keys"] == .array(after.map { .string($0) }))
            #expect(listing["retired"] == [.string(before[0])])
            #expect(after[0] == before[1])
            #expect(!before.contains(after[1]))
            #expect(try await JWT.keys(of: simulator).compactMap { $0["kid"]?.string } == after)

            let fresh = try JWT(try simulator.idToken())
            #expect(try fresh.kid == after[1])
            #expect(try await fresh.isSigned(by: simulator))
            let older = try JWT(try simulator.idToken(signature: .key(kid: after[0])))
            #expect(try await older.isSigned(by: simulator))
            let retired = try JWT(try simulator.idToken(signature: .key(kid: before[0])))
            #expect(try retired.kid == before[0])
            #expect(try await !retired.isSigned(by: simulator))

            #expect(try simulator.rotateKeys() == simulator.keys[1])
            #expect(try await control.send("GET", "/keys").text.hasPrefix(#"{"keys":["\#(after[1])","#))
            try simulator.reset()
            #expect(simulator.keys == before)
        }
    }

    @Test("outages, redirects and slowness are faults on the path, and the log counts the fetches")
    func faults() async throws {
        try await Control.run { simulator, control in
            let path = ".well-known/oauth/openid/jwks"
            simulator.add(.init(.html502, path: path, count: 1))
            _ = try await control.send(
                "POST",
                "/faults",
                #"{"effect":"redirect","status":301,"location":"https://www.facebook.com/\#(path)/","path":"\#(path)","count":1}"#
            )
            #expect(try await Wire.get(simulator, "/\(path)/").status == 502)
            let bareHost = try await Wire.get(simulator, "/\(path)/")
            #expect(bareHost.status == 301)
            #expect(bareHost.header("location") == "https://www.facebook.com/\(path)/")
            #expect(try await Wire.get(simulator, "/\(path)/").status == 200)
            #expect(simulator.requests(path: path).count == 3)
            #expect(simulator.counters.requestsByPath == [path: 3])
        }
    }
}
