import API
import Applications
import Curl
import HTTP
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
    /// How many refused logins of a second the log of logins has rows of, at most; nil when there is no log.
    var loginRowsPerSecond: Int?
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
    /// Where a browser reaches the management listener; nil for a Unix socket of which nothing is said.
    var consoleOrigin: String?
    /// Proxies in front whose word of where a request comes from counts.
    var trustedProxies: Int
    var listen: ListenAddress
    var managementListen: ListenAddress
    /// Who may connect where a listener is a Unix socket.
    var socketAccess: UnixSocket.Access
    /// Who says by the PROXY protocol where connections come from; nil where a listener does not speak it.
    var proxies: TrustedPeers?
    var managementProxies: TrustedPeers?
    /// Nil where a listener speaks plain HTTP.
    var certificate: ListenerCertificate?
    var managementCertificate: ListenerCertificate?
    /// For how many seconds browsers shall come by TLS alone, once they have come by ours.
    var strictTransport: Int
    var logLevel: Logger.Level
    var metricsAccess: MetricsPage.Access
    /// Where traces go, and how many of a hundred, wherever they have begun; nil when they go nowhere.
    var traces: (url: HTTPURL, percent: Int)?
    var mode: Mode
    /// How long an HTTP connection may wait for its next request.
    var httpIdle: Duration
    /// How long a request may take to arrive.
    var httpRead: Duration
    /// How long the other end of an HTTP connection may take nothing of a reply.
    var httpWrite: Duration
    /// HTTP connections at once on each listener.
    var httpConnections: Int
    /// HTTP connections of one source at once on each listener.
    var sourceConnections: Int
    /// Bytes on each listener that wait for the rest of a request, or for a reply to be taken.
    var waitingBytes: Int
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
    /// How links go to telephones.
    var sms: SMSConfiguration?
    /// Where links of mails and messages lead.
    var publicURL: String?
}

/// Where a listener listens.
enum ListenAddress: Sendable, Equatable, CustomStringConvertible {
    case network(host: String, port: Int)
    /// The path of a Unix socket.
    case socket(path: String)

    /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or `unix:/run/federation/public.sock`.
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

    /// As the variable has it.
    var description: String {
        switch self {
        case .network(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .socket(let path): "unix:\(path)"
        }
    }

    /// Whether only this machine reaches it, for certain.
    var isLoopback: Bool {
        guard case .network(let host, let port) = self else { return true }
        guard let address = try? SocketAddress(ipAddress: host, port: port).ipAddress else {
            return host == "localhost"
        }
        return address.hasPrefix("127.") || address == "::1"
    }

    /// Whether whoever comes has no address of a network.
    var isSocket: Bool {
        if case .socket = self { true } else { false }
    }
}
