import FoundationEssentials

/// An SMTP server for tests: the script `scripts/lib/smtp-server.py` as a child process.
///
/// The help text of the script describes how the server treats each recipient address.
package struct MailServer: Sendable {
    /// How connections to the mail server are encrypted.
    package enum Security: String, Sendable {
        case none, starttls, tls
    }

    /// A mail that the server received completely.
    package struct Mail: Decodable, Sendable {
        package let from: String
        package let to: [String]
        package let tls: Bool
        /// The user name with which the client logged in to the server; `nil` if the client did not log in.
        package let user: String?
        /// The name by which the client introduced itself in the SMTP greeting.
        package let client: String
        package let content: String
        /// How the server treated a mail that it did not accept; `nil` if it accepted the mail.
        package let outcome: String?
    }

    package let process: ManagedProcess
    package let port: Int

    /// Starts a mail server and waits until it listens.
    ///
    /// - Parameters:
    ///   - security: How connections are encrypted.
    ///   - certificate: The common path of two files, without their extensions: the certificate ends with `.pem`, and
    ///     its private key with `.key`.
    ///   - login: The credentials that the server requires, if any.
    ///   - port: The port; `nil` for a free one.
    /// - Returns: The server.
    /// - Throws: ``ProcessEnded`` or ``DeadlinePassed``. A possible cause is that aiosmtpd is not installed.
    ///   `scripts/prepare test` installs it.
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

    /// The server's URL without TLS.
    package var plainURL: String { "smtp://127.0.0.1:\(port)?starttls=off" }

    /// The mails received completely so far.
    package var mails: [Mail] {
        get throws {
            try process.standardOutput.split(separator: "\n").filter { $0.utf8.first == UInt8(ascii: "{") }.map {
                try JSONDecoder().decode(Mail.self, from: Data($0.utf8))
            }
        }
    }
}
