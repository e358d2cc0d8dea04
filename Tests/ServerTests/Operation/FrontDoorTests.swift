import Foundation
import Testing
import TestSupport

@testable import ServerTestSupport

@Suite("Listeners behind a proxy: Unix sockets and the PROXY protocol")
struct FrontDoorTests {
    @Test("a Unix socket has its mode, is taken over only when nobody listens, and is gone at the end")
    func unixSocket() async throws {
        try await withDatabase(.empty) { database in
            let folder = FileManager.default.temporaryDirectory.path + "/federation-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let (path, management) = (folder + "/public.sock", folder + "/management.sock")
            var environment = Deployment.environment(database: database)
            environment["FEDERATION_LISTEN"] = "unix:" + path
            environment["FEDERATION_MANAGEMENT_LISTEN"] = "unix:" + management
            environment["FEDERATION_SOCKET_MODE"] = "600"
            func start() async throws -> ManagedProcess {
                let program = try PackageLayout.executable("federation")
                let process = try await ManagedProcess.start(program, ["serve"], environment: environment)
                try await process.waitUntilReady(within: .seconds(30)) {
                    guard try await status(management, "/health/live") == "200" else { return false }
                    return try await status(path, "/openapi.json") == "200"
                }
                return process
            }
            func status(_ socket: String, _ path: String) async throws -> String {
                let options = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", socket]
                return try await run("curl", options + ["http://localhost" + path]).standardOutput
            }
            let first = try await start()
            try await eventually("it has its mode") {
                try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600
            }
            let ready = try await run("curl", ["-s", "--unix-socket", management, "http://localhost/health/ready"])
            #expect(ready.standardOutput.contains("The public listener is a Unix socket"))

            let second = try await runFederation(["serve"], environment: environment)
            #expect(second.exitStatus == .exited(78))
            #expect(second.standardError.contains("another process listens on"), "\(second.standardError)")
            #expect(try await status(path, "/openapi.json") == "200", "the first one still has it")

            try await first.kill()
            #expect(FileManager.default.fileExists(atPath: path), "a killed process leaves its socket")
            let third = try await start()
            #expect(try await third.terminate() == .exited(0))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])

            try "mine".write(toFile: path, atomically: true, encoding: .utf8)
            let fourth = try await runFederation(["serve"], environment: environment)
            #expect(fourth.exitStatus == .exited(78))
            #expect(fourth.standardError.contains("exists and is not a socket"))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
            try FileManager.default.removeItem(atPath: folder)
        }
    }

    /// A header of the PROXY protocol, version 2, from 192.0.2.7.
    private static let header: [UInt8] =
        [0x0D, 0x0A, 0x0D, 0x0A, 0, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, 0x21, 0x11, 0, 12]
        + [192, 0, 2, 7, 10, 0, 0, 1, 0x1F, 0x90, 0x01, 0xBB]

    private static let login = Array(
        """
        POST /demo/\(Canary.apiKey)/users/login HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.9\r\n\
        Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}
        """.utf8
    )

    @Test("where a request comes from is what a trusted proxy says in front of the connection, and nothing else")
    func proxyProtocol() async throws {
        try await withDatabase(.empty) { database in
            var environment = Deployment.environment(database: database)
            let migrated = try await runFederation(["migrate"], environment: environment)
            try #require(migrated.exitStatus == .exited(0))
            environment["FEDERATION_PROXY_PROTOCOL_FROM"] = "127.0.0.0/8"
            let service = try await ServiceProcess.start(environment: environment)
            for pieces in [[Self.header + Self.login], (Self.header + Self.login).map { [$0] }] {
                let reply = try await service.client.exchange(pieces)
                #expect(reply.text.hasPrefix("HTTP/1.1 401"), "\(reply.text)")
            }
            func log(_ parts: String...) async throws {
                try await eventually("the log has \(parts)") {
                    service.process.standardOutput.split(separator: "\n").contains { line in
                        parts.allSatisfy { line.contains($0) }
                    }
                }
            }
            try await log(#""message":"refused""#, #""reason":"unknown_application""#, #""source":"192.0.2.7""#)
            #expect(!service.process.standardOutput.contains("203.0.113.9"))

            let wrong: [([UInt8], String)] = [
                (Self.login, "does not begin with a header"),
                (Array("PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n".utf8) + Self.login, "version 1"),
                (Array(Self.header.prefix(15)) + [4, 192, 0, 2, 7] + Self.login, "shorter than its addresses"),
            ]
            for (bytes, cause) in wrong {
                let reply = try await service.client.exchange([bytes], within: .seconds(20))
                #expect(reply.bytes.isEmpty && reply.end != .deadline, "\(cause)")
                try await log(#""message":"connection refused""#, cause)
            }
            #expect(try await service.process.terminate() == .exited(0))

            environment["FEDERATION_PROXY_PROTOCOL_FROM"] = "10.0.0.0/8, unix"
            let distrusting = try await ServiceProcess.start(environment: environment)
            let reply = try await distrusting.client.exchange([Self.header + Self.login], within: .seconds(20))
            #expect(reply.bytes.isEmpty && reply.end != .deadline)
            try await eventually("the log says why") {
                distrusting.process.standardOutput.contains("no proxy is trusted")
            }
            #expect(try await distrusting.process.terminate() == .exited(0))

            environment["FEDERATION_TRUSTED_PROXIES"] = "1"
            let both = try await runFederation(["serve"], environment: environment)
            #expect(both.exitStatus == .exited(78))
            #expect(both.standardError.contains("set only one of them"))
        }
    }
}
