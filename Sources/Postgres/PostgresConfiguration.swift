/// Where PostgreSQL is, and every number that bounds the use of it.
package struct PostgresConfiguration: Sendable {
    /// The servers, tried in order until one takes writes.
    private(set) var hosts: [DatabaseHost]
    private(set) var database: String
    private(set) var user: String
    private(set) var password: Password?
    private(set) var transport: TransportSecurity
    private(set) var targetSession: TargetSession
    private(set) var channelBinding: ChannelBinding
    /// The URL's startup options for the server or for a proxy in front of it; our own come behind them.
    private(set) var options: String

    /// Connections over which single statements are pipelined, all kept open.
    package var pipelinedConnections = 4
    /// The most connections lent for transactions; opened when asked for, then kept.
    package var exclusiveConnections = 4
    /// The most statements in flight on one pipelined connection; further ones wait and may still go to any of them.
    package var pipelineDepth = 64
    /// The most statements that wait, and as many callers that wait for a lease; one more fails with
    /// ``PostgresError/overloaded``.
    package var maxQueued = 1024
    /// The longest wait for a connection, of a statement or of a lease.
    package var leaseTimeout: Duration = .seconds(1)
    /// The longest run of a statement, set on every session; zero for no limit.
    ///
    /// A reply that is one second later than this makes the connection count as lost.
    package var statementTimeout: Duration = .seconds(2)
    /// The longest wait for a lock, set on every session; zero for no limit.
    package var lockTimeout: Duration = .seconds(1)
    /// The longest pause inside a transaction, set on every session; zero for no limit.
    package var idleInTransactionTimeout: Duration = .seconds(5)
    /// How long sent bytes may stay unacknowledged before the kernel gives the connection up.
    package var tcpUserTimeout: Duration = .seconds(5)
    /// The longest attempt to open a connection to one host.
    package var connectTimeout: Duration = .seconds(2)
    /// Whether callers that wait for a connection fail at once when every host has failed for good.
    ///
    /// A service waits all the same: what is wrong may be mended meanwhile.
    package var givesUpAtRefusals = false
    /// The pause after which a connection that waits for notifications repeats `LISTEN`, to get a sign of life.
    ///
    /// Nothing else is ever sent on it, and TCP alone does not notice that the other end of a silent connection is
    /// gone.
    package var listenPause: Duration = .seconds(10)
    /// The longest wait for the answer to `LISTEN`; then the connection counts as lost.
    package var listenTimeout: Duration = .seconds(5)
    /// The most bytes of one row.
    package var rowBytes = 16_777_216
    /// The most bytes of all rows of a result.
    package var resultBytes = 134_217_728
    /// Whether statements are prepared and kept on the server.
    ///
    /// Off for poolers in transaction mode: every statement is then parsed anew and relies on no state of the session.
    package var preparedStatements = true
    /// How many bytes the texts of the statements may have together that one connection keeps prepared; 0 has every
    /// statement planned for its one use.
    ///
    /// The server takes about a hundred times as much memory for them.
    package var preparedBytes = 2_621_440
    /// How many bytes of statements a connection may have had parsed that it does not keep.
    ///
    /// Then another one takes its place, since the server never forgets what it has learnt of their tables. Without
    /// prepared statements connections belong to a pooler and stay.
    package var discardedBytes = 2_097_152
    /// Settings of the server for every session besides its time limits; where these come with the startup options, so
    /// do they.
    package var settings: [(name: String, value: String)] = []
    /// How the three time limits reach the server; nil for `startupOptions` with prepared statements and
    /// `eachTransaction` without.
    package var sessionSettings: SessionSettings?
    /// The name by which the server lists the connections.
    package var applicationName: String
    /// The name where the URL gives none.
    package static let standardName = "postgres"

    /// How the time limits of a session reach the server.
    package enum SessionSettings: Sendable, Hashable {
        /// As startup parameter `options`, for the whole session. PgBouncer refuses the parameter unless it is among
        /// its `ignore_startup_parameters`.
        case startupOptions
        /// By `SET LOCAL` at the start of each transaction. Single statements run under whatever the role or the
        /// database sets: `ALTER ROLE … SET statement_timeout = '2s'` is what to do there.
        case eachTransaction
        /// Not at all: role, database or pooler set them.
        case leftToServer
    }

    /// Which servers are good enough to connect to.
    enum TargetSession: String, Sendable {
        case any
        case primary
        case readWrite = "read-write"
    }

    /// Whether the password's proof must be bound to the TLS connection.
    enum ChannelBinding: String, Sendable {
        case disable
        case prefer
        case require
    }

    /// Reads `postgres://user:password@host1:port,host2:port/database?sslmode=…`.
    ///
    /// Parameters after the `?`: `host` and `port` (a socket's folder and its number, when no host is before the path),
    /// `sslmode`, `sslrootcert`, `sslcert`, `sslkey`, `target_session_attrs` (`read-write`, which is the default,
    /// `primary` or `any`), `application_name`, `channel_binding`, `connect_timeout` in seconds, and `options`, such as
    /// the name of an endpoint; `sslnegotiation`, `gssencmode` and `client_encoding` may say what holds anyway. Nothing
    /// is guessed from the environment; a missing database is named like the user. Unless every host is a loopback
    /// address or a socket, the server's certificate is verified, and a URL that asks for less is refused.
    package init(url: String) throws(PostgresConfigurationError) {
        try self.init(url: url, environment: processEnvironment)
    }

    init(url: String, environment: (String) -> String?) throws(PostgresConfigurationError) {
        let parsed = try ConnectionURL(url)
        transport = try TransportSecurity(parsed)
        hosts = parsed.hosts
        database = parsed.database
        user = parsed.user
        password = parsed.password
        applicationName = parsed.parameters["application_name"] ?? Self.standardName
        let attributes = parsed.parameters["target_session_attrs"] ?? TargetSession.readWrite.rawValue
        guard let targetSession = TargetSession(rawValue: attributes) else {
            throw .invalid("target_session_attrs", expected: "read-write, primary or any")
        }
        self.targetSession = targetSession
        guard let binding = ChannelBinding(rawValue: parsed.parameters["channel_binding"] ?? "prefer") else {
            throw .invalid("channel_binding", expected: "prefer, require or disable")
        }
        channelBinding = binding
        if let text = parsed.parameters["connect_timeout"] {
            guard let seconds = Int(text), (1...3600).contains(seconds) else {
                throw .invalid("connect_timeout", expected: "seconds from 1 to 3600")
            }
            connectTimeout = .seconds(seconds)
        }
        options = parsed.parameters["options"] ?? ""
        let fixed: [(name: String, values: [String])] = [
            ("sslnegotiation", ["postgres"]), ("gssencmode", ["disable", "prefer"]),
            ("client_encoding", ["UTF8", "utf8", "UTF-8", "auto"]),
        ]
        for (name, values) in fixed {
            guard let text = parsed.parameters[name], !values.contains(text) else { continue }
            throw .invalid(name, expected: "\(values.joined(separator: " or ")), or nothing")
        }

        // libpq reads these when its own keyword is unset, and they are the ones that cannot be set to "nothing".
        var decisive = ["PGSERVICE"]
        if hosts.contains(where: \.isSocket) { decisive += ["PGHOSTADDR", "PGREQUIREPEER"] }
        if password == nil { decisive.append("PGPASSWORD") }
        for name in decisive where environment(name)?.isEmpty == false {
            throw .environment(name)
        }
    }

    /// The same numbers for another database, with the name by which this one's connections are listed.
    package func elsewhere(url: String) throws(PostgresConfigurationError) -> PostgresConfiguration {
        let other = try PostgresConfiguration(url: url)
        var configuration = self
        configuration.hosts = other.hosts
        configuration.database = other.database
        configuration.user = other.user
        configuration.password = other.password
        configuration.transport = other.transport
        configuration.targetSession = other.targetSession
        configuration.channelBinding = other.channelBinding
        configuration.options = other.options
        return configuration
    }

    var effectiveSessionSettings: SessionSettings {
        sessionSettings ?? (preparedStatements ? .startupOptions : .eachTransaction)
    }
}

/// A password that prints as dots.
struct Password: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String

    var description: String { "•••" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// What is wrong with the URL of the database.
///
/// No case holds a password.
package enum PostgresConfigurationError: Error, Sendable, Hashable {
    /// The URL does not begin with `postgres://` or `postgresql://`.
    case notAPostgresURL
    /// The named part of the URL is missing.
    case missing(String)
    /// The named part of the URL is not what it should be.
    case invalid(String, expected: String)
    /// The URL has a parameter that is not known.
    case unknownParameter(String)
    /// The URL has a parameter that the service does not take, and what is to be done in its place.
    case refusedParameter(String, advice: String)
    /// The connection to the named host would not be encrypted and verified.
    case unverified(host: String)
    /// The named environment variable would change what the URL says.
    case environment(String)
}

extension PostgresConfigurationError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notAPostgresURL:
            "the database URL must look like postgres://user:password@host:5432/database"
        case .missing(let part):
            "the database URL names no \(part)"
        case .invalid(let part, let expected):
            "the \(part) of the database URL is not valid: expected \(expected)"
        case .unknownParameter(let name):
            "the database URL has the unknown parameter \(name): correct it, or take it out"
        case .refusedParameter(let name, let advice):
            "the database URL has the parameter \(name), which is not taken: \(advice)"
        case .unverified(let host):
            """
            the connection to \(host) would leave this machine without verified TLS: use sslmode=verify-full \
            (and sslrootcert=FILE if the server's certificate is signed by a private authority)
            """
        case .environment(let name):
            "the environment variable \(name) would change what the database URL says: unset it"
        }
    }
}
