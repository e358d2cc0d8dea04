import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// A running `federation serve` with TLS, on a database without a schema.
struct SecureService: Sendable {
    let process: ManagedProcess
    let folder: CertificateFolder
    let port: Int
    let managementPort: Int

    /// Runs a closure against an instance whose listeners use the certificate `server`.
    ///
    /// - Parameters:
    ///   - environment: Additional variables.
    ///   - clients: The authority of client certificates, which the management listener then requires.
    ///   - body: Uses the instance; `folder` can issue new certificates.
    /// - Throws: The body's error.
    static func with(
        _ environment: [String: String] = [:],
        clients: String? = nil,
        _ body: (SecureService) async throws -> Void
    ) async throws {
        let folder = try await CertificateFolder.make()
        try await folder.issue("server")
        try await folder.issue("operator", by: clients ?? "authority")
        try await withDatabase(.empty) { database in
            let (port, managementPort) = (try freePort(), try freePort())
            var variables = Deployment.environment(database: database)
            variables["FEDERATION_LISTEN"] = "127.0.0.1:\(port)"
            variables["FEDERATION_MANAGEMENT_LISTEN"] = "127.0.0.1:\(managementPort)"
            for prefix in ["FEDERATION_TLS", "FEDERATION_MANAGEMENT_TLS"] {
                variables[prefix + "_CERTIFICATE_FILE"] = folder.certificate("server")
                variables[prefix + "_KEY_FILE"] = folder.key("server")
            }
            if let clients { variables["FEDERATION_MANAGEMENT_TLS_CLIENT_CA_FILE"] = folder.certificate(clients) }
            let process = try await ManagedProcess.start(
                try PackageLayout.executable("federation"),
                ["serve"],
                environment: variables.merging(environment) { $1 }
            )
            let service = SecureService(process: process, folder: folder, port: port, managementPort: managementPort)
            do {
                try await process.waitUntilReady(within: .seconds(30)) {
                    try await service.curl(["--cert", folder.certificate("operator"), "--key", folder.key("operator")])
                        .status == 200
                }
                try await body(service)
            } catch {
                try? await process.kill()
                throw error
            }
            #expect(try await process.terminate() == .exited(0))
            #expect(process.standardError == "")
        }
        try folder.remove()
    }

    /// The result of a request by curl.
    struct Answer {
        /// The exit status; 0 on success.
        let exit: ProcessEnd?
        let status: Int
        /// The HTTP version, `1.1` or `2`.
        let version: String
        let head: String
        let body: String
        let error: String
    }

    /// Sends a request by curl, which trusts the folder's authority.
    ///
    /// - Parameters:
    ///   - options: Additional options.
    ///   - path: A path on the public listener; `nil` for health on the management listener.
    /// - Returns: The result.
    /// - Throws: An error when curl cannot be started.
    func curl(_ options: [String] = [], _ path: String? = nil) async throws -> Answer {
        let url = path.map { "https://127.0.0.1:\(port)\($0)" } ?? "https://127.0.0.1:\(managementPort)/health/live"
        let ended = try await run(
            "curl",
            ["-sS", "-i", "--max-time", "20", "--cacert", folder.certificate("authority")]
                + ["-w", "\n%{http_code} %{http_version}"] + options + [url]
        )
        let output = ended.standardOutput.replacing("\r\n", with: "\n")
        let last = output.split(separator: "\n", omittingEmptySubsequences: false).last ?? ""
        let facts = last.split(separator: " ")
        let parts = output.dropLast(last.count + 1).split(separator: "\n\n", maxSplits: 1)
        return Answer(
            exit: ended.exitStatus,
            status: facts.first.flatMap { Int($0) } ?? 0,
            version: facts.last.map(String.init) ?? "",
            head: parts.first.map { $0.lowercased() } ?? "",
            body: parts.count > 1 ? String(parts[1]) : "",
            error: ended.standardError
        )
    }

    /// Returns the output of `openssl s_client` about a handshake.
    func handshake(_ options: [String], port: Int? = nil) async throws -> String {
        let ended = try await run(
            "bash",
            ["-c", #"exec openssl s_client "$@" </dev/null 2>&1"#, "s_client"]
                + ["-connect", "127.0.0.1:\(port ?? self.port)", "-CAfile", folder.certificate("authority")] + options
        )
        return ended.standardOutput
    }

    /// Returns the warnings of the readiness check.
    func warnings(_ options: [String] = []) async throws -> [String] {
        let ended = try await run(
            "curl",
            ["-sS", "--cacert", folder.certificate("authority")] + options
                + ["https://127.0.0.1:\(managementPort)/health/ready"]
        )
        return JSON.object(ended.standardOutput)?["warnings"]?.array?.compactMap(\.string) ?? []
    }

    /// Sends raw bytes without TLS and collects the response.
    func exchange(_ bytes: [UInt8], within limit: Duration) async throws -> RawReply {
        try await HTTPClient(port: port).exchange([bytes], within: limit)
    }
}
