import AdministrationAPI
import Applications
import Curl
import HTTP
import Limiting
import Logging
import Maintenance
import NIOCore
import Postgres
import Providers
import Secrets

/// The configuration from the environment, read once at start.
struct ServerConfiguration: Sendable {
    var postgres: PostgresConfiguration
    var masterKeys: MasterKeys
    var curl: CurlConfiguration
    /// The configuration of each provider kind, from its variables.
    var providers: [UpstreamSetup]
    var limits: Limits
    /// How many logins and other requests that write may be in progress at once.
    var admission: Admission.Settings
    /// The rate limits of each source and application.
    var policies: LimitPolicies
    /// The maximum number of refused logins that the log of logins records in a second; nil if there is no log.
    var loginRowsPerSecond: Int?
    /// The settings of background work; nil when this instance does none.
    var maintenance: Maintenance.Settings?
    /// How many password hashes may be computed at once.
    var passwordHashes: Int
    /// How many password hashes may wait to be computed.
    var passwordQueue: Int
    /// The configuration of mails; nil when no mails are sent.
    var mail: MailConfiguration?
    /// The configuration of SMS; nil when no SMS are sent.
    var sms: SMSConfiguration?
    var publicURL: String?
    /// The web origin at which operators create and use their passkeys.
    var operatorOrigin: String?
    /// The web origin at which browsers reach the console; nil if the console is on a Unix socket and no origin is set.
    var consoleOrigin: String?
    /// The number of trusted proxies in front of the service, which report the source of each request.
    var trustedProxies: Int
    var listen: ListenAddress
    var managementListen: ListenAddress
    /// The file mode and the group of the listeners' Unix sockets.
    var socketAccess: UnixSocket.Access
    /// The proxies that report the source of connections to the public listener by the PROXY protocol.
    ///
    /// Nil if the public listener does not use the protocol.
    var proxies: TrustedPeers?
    var managementProxies: TrustedPeers?
    /// The TLS certificate of the public listener; nil if this listener speaks plain HTTP.
    var certificate: ListenerCertificate?
    var managementCertificate: ListenerCertificate?
    /// How many seconds a browser must use only HTTPS after a response of the public listener (HSTS).
    var strictTransport: Int
    var logLevel: Logger.Level
    var metricsAccess: MetricsPage.Access
    /// The URL for traces, and the percentage of traces that is exported; nil when no trace is exported.
    var traces: (url: HTTPURL, percent: Int)?
    var mode: Mode
    /// How long an idle HTTP connection may wait for its next request before the service closes it.
    var httpIdle: Duration
    /// The timeout within which a client must have sent its whole request.
    var httpRead: Duration
    /// The timeout after which the service closes a connection whose client reads nothing of its response.
    var httpWrite: Duration
    /// The maximum number of concurrent HTTP connections of each listener.
    var httpConnections: Int
    /// The maximum number of concurrent HTTP connections of one source to each listener.
    var sourceConnections: Int
    /// The maximum number of bytes of requests and responses that each listener keeps in memory.
    ///
    /// The listener keeps incomplete requests, and responses that clients have not read yet.
    var waitingBytes: Int
    /// How long requests in flight may take to finish after SIGTERM.
    var drain: Duration

    enum Mode: String, Sendable, CaseIterable {
        case production
        case development
    }
}

/// The configuration of the operators' commands, from the environment.
struct AdministrationConfiguration: Sendable {
    var postgres: PostgresConfiguration
    var masterKeys: MasterKeys
    var curl: CurlConfiguration
    /// The configuration of each provider kind, from its variables.
    var providers: [UpstreamSetup]
    /// The configuration for mails about changes of accounts.
    ///
    /// Commands only queue these mails; the instances of the service send them.
    var mail: MailConfiguration?
    /// The configuration of SMS messages with links for users.
    var sms: SMSConfiguration?
    /// The public base URL of the links in mails and messages.
    var publicURL: String?
}

/// The address of a listener.
enum ListenAddress: Sendable, Equatable, CustomStringConvertible {
    case network(host: String, port: Int)
    /// The path of a Unix socket.
    case socket(path: String)

    /// Parses an address such as `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or
    /// `unix:/run/federation/public.sock`.
    init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard path.hasPrefix("/"), path.utf8.count <= UnixSocket.longestPath else { return nil }
            self = .socket(path: path)
            return
        }
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
        self = .network(host: String(host), port: Int(port))
    }

    /// The address in the form that the configuration variable has.
    var description: String {
        switch self {
        case .network(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .socket(let path): "unix:\(path)"
        }
    }

    /// Whether the address is certain to be reachable only from the same machine.
    var isLoopback: Bool {
        guard case .network(let host, let port) = self else { return true }
        guard let address = try? SocketAddress(ipAddress: host, port: port).ipAddress else {
            return host == "localhost"
        }
        return address.hasPrefix("127.") || address == "::1"
    }

    /// Whether the address is a Unix socket, whose clients have no network address.
    var isSocket: Bool {
        if case .socket = self { true } else { false }
    }
}
