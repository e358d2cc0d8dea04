import Foundation
import GraphSimulator
import Testing
import TestSupport

@Suite("the graph-simulator command")
struct CommandTests {
    private static func executable() throws -> String { try PackageLayout.executable("graph-simulator") }

    private func file(_ text: String) throws -> URL {
        let url = FileManager.default.temporaryDirectory.appending(path: "simulator-\(UUID().uuidString).json")
        try Data(text.utf8).write(to: url)
        return url
    }

    @Test("prints its addresses in one line when ready, answers, and ends with 0 on SIGTERM")
    func life() async throws {
        let data = try file(#"{"apps":[{"id":"1","secret":"s"}],"people":[{"key":"a","name":"A"}]}"#)
        defer { try? FileManager.default.removeItem(at: data) }
        let command = try await ManagedProcess.start(
            Self.executable(),
            ["--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--data", data.path(), "--request-log", "5"]
        )
        try await command.waitUntilReady { command.standardOutput.hasSuffix("}\n") }
        #expect(command.standardOutput.filter { $0 == "\n" }.count == 1)
        let ready = try GraphSimulator.JSON(parsing: command.standardOutput.utf8)
        let address = try #require(ready["listen"]?.string.flatMap { GraphSimulator.Address($0) })
        let control = try #require(ready["control"]?.string.flatMap { GraphSimulator.Address($0) })

        let minting = try await Wire.connect(to: control.port)
        try await minting.send(Wire.request("POST", "/tokens", headers: ["Content-Length: 0"]))
        let token = try #require(try GraphSimulator.JSON(parsing: try await minting.reply().body)["token"]?.string)
        let wire = try await Wire.connect(to: address.port)
        try await wire.send(Wire.request("GET", "/me?fields=name&access_token=\(token)"))
        #expect(try await wire.reply().text.hasPrefix(#"{"name":"A","id":"#))

        #expect(try await command.terminate() == .exited(0))
        #expect(command.standardError.isEmpty)
    }

    /// Arguments (DATA stands for a file with the second text), exit code, and the message on standard error.
    static let failures: [([String], String, Int32, String)] = [
        (["--lisen", "x"], "", 64, "Unknown option"),
        (["--listen", "9090"], "", 64, "\"9090\" is no host:port"),
        (["--request-log", "-1"], "", 64, "--request-log"),
        (["--threads", "0"], "", 64, "--threads must be from 1 to 64"),
        (["--data", "/nonexistent.json"], "", 66, "/nonexistent.json: cannot be read"),
        (["--data", "DATA"], "{\"apps\":\n[}", 65, ".json: the text is not JSON (at line 2, column 2)"),
        (["--data", "DATA"], #"{"people":[{"key":"a","email":1}]}"#, 65, ".json: people[0].email: expected a string"),
        (["--data", "DATA"], #"{"tokens":[{}]}"#, 65, ".json: tokens[0].app: there is no app"),
        (["--listen", "192.0.2.1:1"], "", 69, "cannot listen on 192.0.2.1:1"),
    ]

    @Test("ends with the code of sysexits and a message", arguments: failures)
    func failure(_ arguments: [String], _ text: String, _ code: Int32, _ message: String) async throws {
        let data = try file(text)
        defer { try? FileManager.default.removeItem(at: data) }
        let free = arguments.contains("--listen") ? [] : ["--listen", "127.0.0.1:0"]
        let ended = try await run(
            Self.executable(),
            arguments.map { $0 == "DATA" ? data.path() : $0 } + free + ["--control", "127.0.0.1:0"]
        )
        #expect(ended.exitStatus == .exited(code))
        #expect(ended.standardError.contains(message))
        #expect(ended.standardOutput.isEmpty)
    }

    @Test("--help teaches with examples")
    func help() async throws {
        let ended = try await run(Self.executable(), ["--help"])
        #expect(ended.exitStatus == .exited(0))
        for word in [
            "curl 127.0.0.1:9091/tokens", "dataAccessExpired", "--listen", "/faults", "/codes", "/id-tokens",
            "/deliver",
        ] {
            #expect(ended.standardOutput.contains(word))
        }
    }
}
