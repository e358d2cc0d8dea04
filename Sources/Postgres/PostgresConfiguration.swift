/// The address of PostgreSQL, and all limits for its use.
package struct PostgresConfiguration: Sendable {
    /// The servers, tried in order until one takes writes.
    private(set) var hosts: [DatabaseHost]
    private(set) var database: String
    private(set) var user: String
    private(set) var password: Password?
    private(set) var transport: TransportSecurity
    private(set) var targetSession: TargetSession
    private(set) var channelBinding: ChannelBinding
    /// The startup options in the URL, for the server or for a proxy in front of it.
    ///
    /// The driver appends its own options to these.
    private(set) var options: String

    /// The number of connections for single statements.
    ///
    /// All of them stay open. Each is used in libpq's pipeline mode, by several callers at once.
    package var pipelinedConnections = 4
    /// The maximum number of connections that are leased to one caller at a time, such as for a transaction.
    ///
    /// They are opened on demand and then stay open.
    package var exclusiveConnections = 4
    /// The maximum number of statements in flight on one pipelined connection.
    ///
    /// Further statements wait until one of the connections has room.
    package var pipelineDepth = 64
    /// The maximum number of waiting statements, and the maximum number of callers that wait for a lease.
    ///
    /// Above that, a statement or a request for a lease fails with ``PostgresError/overloaded``.
    package var maxQueued = 1024
    /// The maximum time that a statement or a request for a lease waits for a connection.
    package var leaseTimeout: Duration = .seconds(1)
    /// The maximum time that the server may run a statement, set on every session; zero for no limit.
    ///
    /// If the response has not arrived one second after this time, the connection counts as lost.
    package var statementTimeout: Duration = .seconds(2)
    /// The maximum time that a statement waits for a lock, set on every session; zero for no limit.
    package var lockTimeout: Duration = .seconds(1)
    /// The maximum time that a session may be idle inside a transaction, set on every session; zero for no limit.
    package var idleInTransactionTimeout: Duration = .seconds(5)
    /// The maximum time that sent bytes may stay unacknowledged before the kernel drops the connection.
    package var tcpUserTimeout: Duration = .seconds(5)
    /// The maximum time that an attempt to connect to one host may take.
    package var connectTimeout: Duration = .seconds(2)
    /// Whether callers that wait for a connection get an error immediately when all hosts have failed permanently.
    ///
    /// False for a running service, since an operator may remove the cause while the callers wait.
    package var givesUpAtRefusals = false
    /// The pause after which a connection for notifications repeats `LISTEN`, to check that the connection works.
    ///
    /// The connection sends nothing else. If a connection is silent, TCP does not notice that the server is gone.
    package var listenPause: Duration = .seconds(10)
    /// The maximum wait for the response to `LISTEN`.
    ///
    /// After that the connection counts as lost.
    package var listenTimeout: Duration = .seconds(5)
    /// The maximum size of one row of a result, in bytes.
    package var rowBytes = 16_777_216
    /// The maximum total size of the rows of a result, in bytes.
    package var resultBytes = 134_217_728
    /// Whether the server prepares statements and keeps them for later runs.
    ///
    /// Must be false if a pooler in transaction mode is in front of the server. If false, the server parses every
    /// statement at each run, and no statement relies on the state of a session.
    package var preparedStatements = true
    /// The maximum total size, in bytes, of the texts of the statements that one connection keeps prepared.
    ///
    /// At 0 every statement is planned for a single use. In the server's memory a prepared statement takes about a
    /// hundred times as many bytes as its text.
    package var preparedBytes = 2_621_440
    /// The maximum total size, in bytes, of the statement texts that the server parsed for a connection and does not
    /// keep prepared.
    ///
    /// Above that, the connection is replaced, since the server keeps metadata of the statements' tables until the
    /// session ends. If ``preparedStatements`` is false, connections belong to a pooler and are not replaced.
    package var discardedBytes = 2_097_152
    /// Further server settings for every session.
    ///
    /// They are sent only if ``sessionSettings`` is, or defaults to, `startupOptions`.
    package var settings: [(name: String, value: String)] = []
    /// How the client tells the server ``statementTimeout``, ``lockTimeout`` and ``idleInTransactionTimeout``.
    ///
    /// Nil means `startupOptions` if ``preparedStatements`` is true, and `eachTransaction` otherwise.
    package var sessionSettings: SessionSettings?
    /// The name under which the server lists the connections.
    package var applicationName: String
    /// The default of ``applicationName`` if the URL has none.
    package static let standardName = "postgres"

    /// The way in which the client tells the server the time limits of a session.
    package enum SessionSettings: Sendable, Hashable {
        /// As startup parameter `options`, for the whole session. PgBouncer refuses the parameter unless it is among
        /// its `ignore_startup_parameters`.
        case startupOptions
        /// By `SET LOCAL` at the start of each transaction. Single statements run under the limits of the role or the
        /// database, so set these there: `ALTER ROLE … SET statement_timeout = '2s'`.
        case eachTransaction
        /// Not at all: the settings of the role, the database or the pooler determine the time limits.
        case leftToServer
    }

    /// Which servers the client accepts, by libpq's `target_session_attrs`.
    enum TargetSession: String, Sendable {
        case any
        case primary
        case readWrite = "read-write"
    }

    /// Whether authentication with a password must be bound to the TLS connection, by libpq's `channel_binding`.
    enum ChannelBinding: String, Sendable {
        case disable
        case prefer
        case require
    }

    /// Parses `postgres://user:password@host1:port,host2:port/database?sslmode=…`.
    ///
    /// Parameters after the `?`: `host` and `port` (a Unix socket's folder and port number, if the URL has no host
    /// before the path), `sslmode`, `sslrootcert`, `sslcert`, `sslkey`, `target_session_attrs` (`read-write`, which is
    /// the default, `primary` or `any`), `application_name`, `channel_binding`, `connect_timeout` in seconds, and
    /// `options` (startup options for the server or a proxy). `sslnegotiation`, `gssencmode` and `client_encoding` are
    /// accepted only with the values that this client always uses. No value comes from the environment. The default
    /// database has the name of the user.
    ///
    /// The client verifies the server's certificate, and refuses a URL that asks for less. The only exception is a URL
    /// in which every host is a loopback address or a Unix socket.
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

        // libpq reads these variables when the keyword for the same thing is unset. No value of the keywords means
        // "none".
        var decisive = ["PGSERVICE"]
        if hosts.contains(where: \.isSocket) { decisive += ["PGHOSTADDR", "PGREQUIREPEER"] }
        if password == nil { decisive.append("PGPASSWORD") }
        for name in decisive where environment(name)?.isEmpty == false {
            throw .environment(name)
        }
    }

    /// Returns a configuration for the server and database of `url`, with the limits and the application name of this
    /// one.
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

/// An error in the URL of the database.
///
/// No case contains a password.
package enum PostgresConfigurationError: Error, Sendable, Hashable {
    /// The URL does not begin with `postgres://` or `postgresql://`.
    case notAPostgresURL
    /// The named part of the URL is missing.
    case missing(String)
    /// The named part of the URL is invalid.
    case invalid(String, expected: String)
    /// The URL has an unknown parameter.
    case unknownParameter(String)
    /// The URL has a parameter that the service does not accept; the advice names an alternative.
    case refusedParameter(String, advice: String)
    /// The connection to the named host would be unencrypted, or the host's certificate would not be verified.
    case unverified(host: String)
    /// The named environment variable would override the URL.
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
