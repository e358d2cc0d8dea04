import FoundationEssentials
import Testing
import TestSupport

@testable import ServerTestSupport

@Suite("The command line")
struct CommandLineTests {
    private static let nowhere = "postgres://nobody:canary-password@127.0.0.1:1/none"

    @Test(
        "help and version are said and succeed",
        arguments: [["--help"], ["--version"], ["help", "serve"], ["apply", "--help"]]
    )
    func help(arguments: [String]) async throws {
        let process = try await runFederation(arguments, environment: [:])
        #expect(process.exitStatus == .exited(0))
        #expect(!process.standardOutput.isEmpty)
    }

    @Test(
        "wrong usage ends with 64 and says what is right",
        arguments: [
            ["nonsense"], ["apply"], ["check"], ["serve", "--port", "80"], ["migrate", "now"], ["apply", "a", "b"],
        ]
    )
    func usage(arguments: [String]) async throws {
        let process = try await runFederation(arguments, environment: [:])
        #expect(process.exitStatus == .exited(64))
        #expect(process.standardError.contains("Usage"), "\(process.standardError)")
    }

    @Test(
        "a file that cannot be read ends with 66, before the database is asked",
        arguments: [
            "check", "diff", "apply", "set applications/demo/mappings/facebook", "mapping preview demo --profile",
            "set applications/demo/providers/facebook apps.1.appSecret=@", "set applications/demo/keys/ios key=@",
            "patch applications/demo/providers/facebook", "user import demo --from backendless",
            "user erase demo --provider facebook --reason law --ids",
        ]
    )
    func unreadableFile(command: String) async throws {
        let environment = ["FEDERATION_DATABASE_URL": Self.nowhere, "FEDERATION_MASTER_KEY": Canary.masterKey]
        let line = command + (command.hasSuffix("@") ? "" : " ") + "/does/not/exist.json"
        let process = try await runFederation(line.split(separator: " ").map(String.init), environment: environment)
        #expect(process.exitStatus == .exited(66))
        #expect(process.standardError.contains("/does/not/exist.json"))
    }

    @Test(
        "a database that cannot be reached ends with 69, without a word of its password",
        arguments: ["migrate", "apply"]
    )
    func unreachableDatabase(command: String) async throws {
        let document = Document(apps: [])
        try await Document.withFile(document.text) { file in
            let process = try await runFederation(
                command == "apply" ? ["apply", file] : [command],
                environment: [
                    "FEDERATION_DATABASE_URL": Self.nowhere, "FEDERATION_MASTER_KEY": Canary.masterKey,
                    "API_KEY": Canary.apiKey,
                ],
                within: .seconds(60)
            )
            #expect(process.exitStatus == .exited(69), "\(process.standardError)")
            #expect(!process.standardError.lowercased().contains(Canary.mark))
        }
    }

    @Test("a wrong configuration ends with 78, all problems at once and no value repeated")
    func configuration() async throws {
        let process = try await runFederation(
            ["serve"],
            environment: [
                "FEDERATION_MASTER_KEY": "canary", "FEDERATION_LISTEN": "canary",
                "FEDERATION_GRAPH_URL": "http://canary.example",
                "FEDERATION_LOG_LEVEL": "canary", "FEDERATION_MODE": "canary",
                "FEDERATION_LOGIN_MILLISECONDS": "canary", "FEDERATION_LIMIT_LOGIN_SOURCE": "canary/s",
            ]
        )
        #expect(process.exitStatus == .exited(78))
        let wrong = [
            "DATABASE_URL", "MASTER_KEY", "LISTEN", "GRAPH_URL", "LOG_LEVEL", "MODE", "LOGIN_MILLISECONDS",
            "LIMIT_LOGIN_SOURCE",
        ]
        for name in wrong {
            #expect(process.standardError.contains("FEDERATION_\(name) "), "\(name) in \(process.standardError)")
        }
        #expect(!process.standardError.contains(Canary.mark), "\(process.standardError)")
        #expect(process.standardOutput == "")
    }

    @Test("T-85: in production serve does not start before it is said how many proxies are in front; 0 says it, too")
    func trustedProxies() async throws {
        // The configuration has another error, too, so that no command listens.
        func problems(_ further: [String: String]) async throws -> String {
            let environment = ["FEDERATION_DATABASE_URL": Self.nowhere].merging(further) { $1 }
            let process = try await runFederation(["serve"], environment: environment)
            #expect(process.exitStatus == .exited(78))
            return process.standardError
        }
        for mode in [[:], ["FEDERATION_MODE": "production"], ["FEDERATION_TRUSTED_PROXIES": ""]] {
            #expect(try await problems(mode).contains("FEDERATION_TRUSTED_PROXIES is not set"))
        }
        for said in [["FEDERATION_TRUSTED_PROXIES": "0"], ["FEDERATION_MODE": "development"]] {
            #expect(try await !problems(said).contains("FEDERATION_TRUSTED_PROXIES"))
        }
        #expect(try await problems(["FEDERATION_TRUSTED_PROXIES": "17"]).contains("FEDERATION_TRUSTED_PROXIES must"))
    }

    @Test("an SMS gateway needs an address that may be called and a secret of Standard Webhooks")
    func smsGateway() async throws {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        let cases: [(url: String, secret: String, said: [String])] = [
            ("https://sms.example/send", secret, []), ("http://127.0.0.1:1/sms", secret, []), ("", "", []),
            ("https://sms.example/send", "", ["SECRET is not set"]), ("", secret, ["URL is not set"]),
            ("http://canary.example/send", secret, ["URL must be"]),
            ("https://sms.example/send", "canary", ["SECRET is not a secret"]),
            ("canary", "whsec_canary", ["URL must be", "SECRET is not a secret"]),
        ]
        for row in cases {
            // Without a database URL no command listens.
            let process = try await runFederation(
                ["serve"],
                environment: ["FEDERATION_SMS_URL": row.url, "FEDERATION_SMS_SECRET": row.secret]
            )
            #expect(process.exitStatus == .exited(78))
            let said = process.standardError.split(separator: "\n").filter { $0.hasPrefix("  FEDERATION_SMS_") }
            #expect(said.count == row.said.count, "\(said)")
            for words in row.said {
                #expect(said.contains { $0.hasPrefix("  FEDERATION_SMS_" + words) }, "\(words) in \(said)")
            }
            #expect(!process.standardError.contains("canary") && !process.standardError.contains("MfKQ"))
        }
    }

    @Test(
        "secrets over plain connections are refused except to this machine, in every mode",
        arguments: ["production", "development"]
    )
    func plainConnections(mode: String) async throws {
        let urls = [
            "FEDERATION_GRAPH_URL": "http://graph.facebook.com",
            "FEDERATION_DATABASE_URL": "postgres://u:p@db.example.com/x?sslmode=disable",
        ]
        for (name, url) in urls {
            var environment = [
                "FEDERATION_DATABASE_URL": Self.nowhere, "FEDERATION_MASTER_KEY": Canary.masterKey,
                "FEDERATION_MODE": mode,
            ]
            environment[name] = url
            let process = try await runFederation(["serve"], environment: environment)
            #expect(process.exitStatus == .exited(78), "\(name)")
            #expect(process.standardError.contains(name), "\(process.standardError)")
        }
    }

    @Test("the master key may come from a file, which must hold 32 bytes as base64")
    func masterKeyFile() async throws {
        // The configuration has another error, too, so that no command connects.
        let url = "postgres://u:p@db.example.com/x?sslmode=disable"
        let files = [
            (Canary.masterKey, true), (Canary.masterKey + "\n", true), ("c2hvcnQ=", false), ("not base64!", false),
            ("", false),
        ]
        for (text, isKey) in files {
            try await Document.withFile(text) { file in
                let applied = try await Document.run(
                    "apply",
                    Document(apps: []).text,
                    environment: ["FEDERATION_DATABASE_URL": url, "FEDERATION_MASTER_KEY_FILE": file]
                )
                #expect(applied.exitStatus == .exited(78))
                #expect(applied.standardError.contains("MASTER_KEY") == !isKey, "\(text): \(applied.standardError)")
                #expect(!applied.standardError.contains(Canary.masterKey))
            }
        }
    }
}
