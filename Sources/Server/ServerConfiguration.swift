import Applications
import Curl
import Limiting
import Logging
import Maintenance
import NIOCore
import Postgres
import Secrets
import Upstream
import Vocabulary

/// Everything that the environment decides, read once at start.
struct ServerConfiguration: Sendable {
    var postgres: PostgresConfiguration
    var masterKeys: MasterKeys
    var curl: CurlConfiguration
    /// The kinds of providers.
    var providers: [UpstreamSetup]
    var limits: Limits
    /// How much may be under way at once.
    var admission: Admission.Settings
    /// How much each source and application may do.
    var policies: LimitPolicies
    /// Searches of users at once, and how long one may take.
    var searches: (atOnce: Int, time: Duration)
    /// Nil when this instance does no work in the background.
    var maintenance: Maintenance.Settings?
    /// Hashes of passwords computed at once.
    var passwordHashes: Int
    /// Hashes that wait to be computed.
    var passwordQueue: Int
    /// Nil when no mails are sent.
    var mail: MailConfiguration?
    /// Nil when no SMS are sent.
    var sms: SMSConfiguration?
    var publicURL: String?
    /// Where operators make and show passkeys.
    var operatorOrigin: String?
    /// Proxies in front whose word of where a request comes from counts.
    var trustedProxies: Int
    var listen: ListenAddress
    var managementListen: ListenAddress
    var logLevel: Logger.Level
    var mode: Mode
    /// How long an HTTP connection may wait for its next request.
    var httpIdle: Duration
    /// How long a request may take to arrive.
    var httpRead: Duration
    /// HTTP connections at once.
    var httpConnections: Int
    /// How long requests in flight may take to finish after SIGTERM.
    var drain: Duration

    enum Mode: String, Sendable {
        case production
        case development
    }
}

/// What the commands of operators take from the environment.
struct AdministrationConfiguration: Sendable {
    var postgres: PostgresConfiguration
    var masterKeys: MasterKeys
    var curl: CurlConfiguration
    /// The kinds of providers.
    var providers: [UpstreamSetup]
    /// How people are told of what is done to their accounts: commands put mails into the queue, instances send them.
    var mail: MailConfiguration?
}

/// A host and port to listen on.
struct ListenAddress: Sendable, Equatable {
    let host: String
    let port: Int

    /// Reads `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.host = String(host)
        self.port = Int(port)
    }

    /// Whether only this machine reaches it, for certain.
    var isLoopback: Bool {
        guard let address = try? SocketAddress(ipAddress: host, port: port).ipAddress else {
            return host == "localhost"
        }
        return address.hasPrefix("127.") || address == "::1"
    }
}
