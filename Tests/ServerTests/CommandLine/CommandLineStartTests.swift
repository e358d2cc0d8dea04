import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("What keeps commands from starting is said in a line, with its variable")
struct CommandLineStartTests {
    @Test("what is wrong with the database is said in its own words, and at once")
    func database() async throws {
        try await withDatabase(.empty) { database in
            let ann = CommandLineOperator(database: database)
            let scheme = try #require(database.url.firstRange(of: "://"))
            let at = try #require(database.url.lastIndex(of: "@"))
            let host = String(database.url[database.url.index(after: at)...].prefix { $0 != "/" && $0 != "?" })
            let start = database.url[..<scheme.upperBound]
            for (url, code, words) in [
                ("\(start)canary_nobody:canary-word@\(host)/postgres", 78, "canary_nobody"),
                (database.url + "_nowhere", 78, "does not exist"),
                ("postgres://ann:canary-word@db.invalid/postgres", 78, "db.invalid"),
                ("postgres://ann:canary-word@127.0.0.1:1/postgres", 69, "Connection refused"),
                ("postgres://ann:canary-word@/postgres?host=/does/not", 69, "No such file or directory"),
            ] as [(String, Int32, String)] {
                var other = ann
                other.environment["FEDERATION_DATABASE_URL"] = url
                let began = ContinuousClock.now
                for command in ["migrate", "list applications"] {
                    let said = try await other.fail(command, with: code)
                    #expect(said.hasPrefix("federation: FEDERATION_DATABASE_URL: "), "\(said)")
                    #expect(said.contains(words) && !said.contains("canary-word"), "\(said)")
                    #expect(said.split(separator: "\n").count == 1, "\(said)")
                }
                // Two waiting commands would take twenty seconds.
                #expect(began.duration(to: .now) < .seconds(15))
                let doctor = try await other.run("doctor --json")
                #expect(doctor.standardOutput.contains(words.prefix(20)), "\(doctor.standardOutput)")
            }
        }
    }

    @Test("a service that its database does not let in ends at once, with the reason and nothing else that went wrong")
    func refusedService() async throws {
        try await withDatabase(.schema) { database in
            let ann = CommandLineOperator(database: database)
            _ = try await ann.run("set applications/shop")
            let at = try #require(database.url.lastIndex(of: "@"))
            let scheme = try #require(database.url.firstRange(of: "://"))
            let stranger = database.url[..<scheme.upperBound] + "canary_nobody:canary-word" + database.url[at...]
            let otherKey = Data("another-master-key-of-32-bytes-!".utf8).base64EncodedString()
            for (variable, value, words) in [
                ("FEDERATION_DATABASE_URL", String(stranger), "canary_nobody"),
                ("FEDERATION_DATABASE_URL", database.url + "_nowhere", "does not exist"),
                ("FEDERATION_MASTER_KEY", otherKey, "does not know the master key"),
            ] {
                var other = ann
                other.environment["FEDERATION_LISTEN"] = "127.0.0.1:\(try freePort())"
                other.environment["FEDERATION_MANAGEMENT_LISTEN"] = "127.0.0.1:\(try freePort())"
                other.environment[variable] = value
                let ended = try await other.run("serve")
                #expect(ended.exitStatus == .exited(78), "\(words)")
                let said = ended.standardError
                #expect(said.hasPrefix("federation: ") && said.contains(words), "\(said)")
                #expect(said.split(separator: "\n").count == 1, "\(said)")
                #expect(!(said + ended.standardOutput).contains("canary-word"))
                let errors = ended.standardOutput.split(separator: "\n").filter {
                    $0.contains(#""level":"error""#) || $0.contains(#""level":"critical""#)
                }
                #expect(errors.count == 1 && errors[0].contains(words), "\(errors)")
            }
        }
    }

    @Test("a migration that was forgotten is said in words, in commands, in readiness and in the log")
    func migration() async throws {
        try await withDatabase(.empty) { database in
            let ann = CommandLineOperator(database: database)
            let said = try await ann.fail("list applications", with: 69)
            #expect(said.contains("run federation migrate"), "\(said)")
            let (listen, management) = (try freePort(), try freePort())
            let process = try await ManagedProcess.start(
                try PackageLayout.executable("federation"),
                ["serve"],
                environment: ann.environment.merging([
                    "FEDERATION_LISTEN": "127.0.0.1:\(listen)",
                    "FEDERATION_MANAGEMENT_LISTEN": "127.0.0.1:\(management)",
                ]) { $1 }
            )
            try await eventually("the log says so") { process.standardOutput.contains("run federation migrate") }
            let ready = try await run("curl", ["-s", "http://127.0.0.1:\(management)/health/ready"])
            #expect(ready.standardOutput.contains("run federation migrate"), "\(ready.standardOutput)")
            #expect(try await process.terminate() == .exited(0))
        }
    }

    @Test("an address that a listener cannot have is one line with its variable")
    func listeners() async throws {
        try await withDatabase(.schema) { database in
            var ann = CommandLineOperator(database: database)
            let service = try await ServiceProcess.start(environment: ann.environment)
            let used = service.management.port
            let folder = FileManager.default.temporaryDirectory.path + "/nowhere-\(UInt32.random(in: .min ... .max))"
            let free = try freePort()
            for (variable, address, words) in [
                ("FEDERATION_LISTEN", "127.0.0.1:\(used)", "is in use"),
                ("FEDERATION_MANAGEMENT_LISTEN", "127.0.0.1:\(used)", "is in use"),
                ("FEDERATION_LISTEN", "192.0.2.1:8080", "not an address of this machine"),
                ("FEDERATION_LISTEN", "host.invalid:8080", "the host has no address"),
                ("FEDERATION_LISTEN", "unix:\(folder)/public.sock", "the folder \(folder) cannot be written to"),
                ("FEDERATION_LISTEN", "127.0.0.1:\(free)", "is in use"),
            ] {
                ann.environment["FEDERATION_LISTEN"] = "127.0.0.1:0"
                // The last address is also the other listener's.
                ann.environment["FEDERATION_MANAGEMENT_LISTEN"] = "127.0.0.1:\(free)"
                ann.environment[variable] = address
                let process = try await ann.run("serve")
                #expect(process.exitStatus == .exited(78), "\(address): \(process.standardError)")
                let said = process.standardError
                #expect(said.hasPrefix("federation: \(variable) \(address): "), "\(said)")
                #expect(said.contains(words), "\(said)")
                #expect(said.split(separator: "\n").count == 1, "\(said)")
                #expect(process.standardOutput == "", "\(process.standardOutput)")
            }
            #expect(try await service.process.terminate() == .exited(0))
        }
    }

    @Test(
        "a misspelt variable keeps every command that reads the configuration from starting, beside all else",
        arguments: [
            "serve", "migrate", "apply mappings/demo.json", "list applications", "mail test --to a@b.c", "doctor",
        ]
    )
    func misspelt(command: String) async throws {
        let arguments = command.split(separator: " ").map(String.init)
        let process = try await Document.withFile(#"{"federation": {"listn": "canary"}}"#) { file in
            try await runFederation(
                arguments.map { $0.hasSuffix(".json") ? PackageLayout.path($0) : $0 },
                environment: [
                    "FEDERATION_CONFIG_FILE": file, "FEDERATION_MAIL_FORM": "canary",
                    "FEDERATION_DATABASE_URI": "canary",
                    // An empty variable counts as not set.
                    "FEDERATION_NOTHING": "",
                ]
            )
        }
        #expect(process.exitStatus == .exited(78))
        let said = process.standardError
        for words in [
            "\n  FEDERATION_DATABASE_URI is not a variable of the service (did you mean FEDERATION_DATABASE_URL?)\n",
            "\n  FEDERATION_MAIL_FORM is not a variable of the service (did you mean FEDERATION_MAIL_FROM?)\n",
            "federation.listn is not a variable of the service (did you mean federation.listen?)",
        ] { #expect(said.contains(words), "\(said)") }
        #expect(said.contains("FEDERATION_DATABASE_URL is not set") == (command != "mail test --to a@b.c"), "\(said)")
        #expect(!said.contains("canary") && !said.contains("NOTHING"), "\(said)")
    }
}
