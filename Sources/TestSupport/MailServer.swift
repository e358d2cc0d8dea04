import FoundationEssentials

/// A real SMTP server, `scripts/lib/smtp-server.py`, whose help says what becomes of which recipient.
package struct MailServer: Sendable {
    /// How it protects what is said.
    package enum Security: String, Sendable {
        case none, starttls, tls
    }

    /// A mail that it has seen whole.
    package struct Mail: Decodable, Sendable {
        package let from: String
        package let to: [String]
        package let tls: Bool
        /// Who logged in.
        package let user: String?
        /// What the client called itself.
        package let client: String
        package let content: String
        /// What became of it, unless it was accepted.
        package let outcome: String?
    }

    package let process: ManagedProcess
    package let port: Int

    /// Starts a server and waits until it listens.
    ///
    /// - Parameters:
    ///   - security: How it protects what is said.
    ///   - certificate: Path of a certificate, without `.pem`, beside its key, with `.key`.
    ///   - login: The login that it asks for, if any.
    ///   - port: Where it listens; nil takes a free one.
    /// - Returns: The server.
    /// - Throws: ``ProcessEnded``, ``DeadlinePassed``: is aiosmtpd installed (`scripts/prepare test`)?
    package static func start(
        _ security: Security = .none,
        certificate: String? = nil,
        login: (user: String, password: String)? = nil,
        port: Int? = nil
    ) async throws -> MailServer {
        let port = try port ?? freePort()
        var arguments = [PackageLayout.path("scripts/lib/smtp-server.py")]
        arguments += ["--security", security.rawValue, "--port", String(port)]
        if let certificate { arguments += ["--certificate", certificate + ".pem", "--key", certificate + ".key"] }
        if let login { arguments += ["--user", login.user, "--password", login.password] }
        let process = try await ManagedProcess.start("python3", arguments)
        try await process.waitUntilReady(within: .seconds(30)) { process.standardOutput.contains("listening") }
        return MailServer(process: process, port: port)
    }

    /// Its URL without TLS.
    package var plainURL: String { "smtp://127.0.0.1:\(port)?starttls=off" }

    /// The mails that it has seen whole so far.
    package var mails: [Mail] {
        get throws {
            try process.standardOutput.split(separator: "\n").filter { $0.utf8.first == UInt8(ascii: "{") }.map {
                try JSONDecoder().decode(Mail.self, from: Data($0.utf8))
            }
        }
    }
}
