import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("What an operator should change is said by log and readiness, and keeps nobody from serving")
struct WarningTests {
    @Test("T-85: requests through a proxy that nobody declared leave one line in the log, and a warning in readiness")
    func undeclaredProxy() async throws {
        try await withNewInstallation { deployment in
            let management = deployment.service.management
            #expect(try await management.get("/health/ready").text == #"{"status":"ready"}"#)
            for number in 1...20 {
                let headers = [("X-Forwarded-For", "192.0.2.\(number)")]
                #expect(try await deployment.client.get("/nothing", headers: headers).status == 404)
            }
            let ready = try await management.get("/health/ready")
            #expect(ready.status == 200)
            let body = JSON.object(ready.text)
            #expect(body?["status"]?.string == "ready")
            let warnings = body?["warnings"]?.array?.compactMap(\.string) ?? []
            #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains("FEDERATION_TRUSTED_PROXIES") })
            // A busy machine causes other warnings, too.
            try await eventually("the log has it") {
                Self.warnings(of: deployment.service.process).filter { $0.contains("FEDERATION") } == warnings
            }
        }
    }

    @Test("a management listener that other machines reach says at the start that it has no TLS")
    func openManagement() async throws {
        try await withDatabase(.empty) { database in
            for (host, isOpen) in [("0.0.0.0", true), ("127.0.0.1", false), ("localhost", false)] {
                let management = try freePort()
                let process = try await ManagedProcess.start(
                    try PackageLayout.executable("federation"),
                    ["serve"],
                    environment: Deployment.environment(database: database).merging([
                        "FEDERATION_LISTEN": "127.0.0.1:\(try freePort())",
                        "FEDERATION_MANAGEMENT_LISTEN": "\(host):\(management)",
                    ]) { $1 }
                )
                let client = HTTPClient(port: management)
                try await process.waitUntilReady(within: .seconds(30)) {
                    try await client.get("/health/live").status == 200
                }
                let ready = try await client.get("/health/ready")
                #expect(ready.status == 503, "there is no schema here")
                let warnings = JSON.object(ready.text)?["warnings"]?.array?.compactMap(\.string) ?? []
                #expect(
                    warnings.map { $0.contains("FEDERATION_MANAGEMENT_LISTEN") } == (isOpen ? [true] : []),
                    "\(host)"
                )
                #expect(try await process.terminate() == .exited(0))
                #expect(Self.warnings(of: process).filter { $0.contains("FEDERATION") } == warnings)
            }
        }
    }

    /// Returns the messages that the service has logged as warnings.
    private static func warnings(of process: ManagedProcess) -> [String] {
        process.standardOutput.split(separator: "\n").compactMap { JSON.object(String($0)) }
            .filter { $0["level"]?.string == "warning" }.compactMap { $0["message"]?.string }
    }
}
