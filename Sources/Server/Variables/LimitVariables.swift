import Limiting
import Providers

/// The configuration variables for timeouts.
enum TimeVariables {
    static let login = Variable.milliseconds(
        "login",
        standard: 5000,
        """
        Timeout of a login. The provider must respond one second before it ends, or a fifth of the timeout if that is \
        less. After the timeout no new write begins; a running write has its own timeouts below.
        """
    )
    static let databaseConnect = Variable.milliseconds(
        "database.connect",
        standard: 2000,
        "Timeout of one attempt to connect to one database host."
    )
    static let databaseLease = Variable.milliseconds(
        "database.lease",
        standard: 1000,
        "Timeout of a wait for a database connection."
    )
    static let databaseStatement = Variable.milliseconds(
        "database.statement",
        standard: 2000,
        "Timeout of one statement. If the response is another second late, the connection is closed."
    )
    static let databaseLock = Variable.milliseconds(
        "database.lock",
        standard: 1000,
        "Timeout of a wait for a lock in PostgreSQL."
    )
    static let databaseIdleInTransaction = Variable.milliseconds(
        "database.idle.in.transaction",
        standard: 5000,
        "Timeout of a pause inside a transaction."
    )
    static let databaseTCPUser = Variable.milliseconds(
        "database.tcp.user",
        standard: 5000,
        "How long sent bytes may stay unacknowledged before the kernel closes the connection."
    )
    static let search = Variable.milliseconds(
        "search",
        standard: 1000,
        """
        Timeout of the statement of a [search of users](api/users.md#search-users). A longer search fails with \
        `query_too_slow`.
        """
    )
    static let httpRead = Variable.milliseconds(
        "http.read",
        standard: 10_000,
        """
        Timeout of a TLS handshake, and of the arrival of a request. The first request counts from the opening of the \
        connection or the end of the handshake, each further one from its first byte.
        """
    )
    static let httpWrite = Variable.milliseconds(
        "http.write",
        standard: 10_000,
        """
        How long a client may read nothing of a waiting response. Then the connection is closed; with HTTP/2, the \
        stream or the connection.
        """
    )
    static let httpIdle = Variable.milliseconds(
        "http.idle",
        standard: 60_000,
        "Idle timeout of an HTTP connection; with HTTP/2, of a connection without a running request."
    )
    static let maintenanceInterval = Variable.milliseconds(
        "maintenance.interval",
        standard: 5000,
        "Pause between two runs of the [background work](operations/capacity.md#work-in-the-background)."
    )
    static let maintenanceLease = Variable.milliseconds(
        "maintenance.lease",
        standard: 60_000,
        """
        How long identities that one instance checks are reserved for it. If that instance is killed, they wait this \
        long.
        """
    )
    static let smtpConnect = Variable.milliseconds(
        "smtp.connect",
        standard: 15_000,
        "Timeout of a connection to the mail server, up to its greeting."
    )
    static let smtpCall = Variable.milliseconds(
        "smtp.call",
        standard: 120_000,
        """
        Timeout of the transfer of one mail. If it ends after the whole mail was sent, the mail may have been accepted \
        and is not sent again, so choose a long one.
        """
    )
    static let smsConnect = Variable.milliseconds(
        "sms.connect",
        standard: 2000,
        "Timeout of a connection to the SMS gateway: address lookup, TCP and TLS."
    )
    static let smsCall = Variable.milliseconds(
        "sms.call",
        standard: 10_000,
        "Timeout of one message to the SMS gateway, for which a user waits. The message is never sent twice."
    )
    static let drain = Variable.milliseconds(
        "drain",
        standard: 10_000,
        "How long running requests may take after SIGTERM. Then they are closed."
    )

    static let all: [any DeclaredVariable] =
        [login] + ProviderKinds.variables.filter { $0 is Variable<Duration> } + [
            databaseConnect, databaseLease, databaseStatement, databaseLock, databaseIdleInTransaction,
            databaseTCPUser, search, httpRead, httpWrite, httpIdle, maintenanceInterval, maintenanceLease, smtpConnect,
            smtpCall, smsConnect, smsCall, drain,
        ]
}

/// The configuration variables for numeric limits.
enum NumberVariables {
    static let concurrentLogins = Variable.integer("concurrent.logins", in: 1...100_000, "logins", standard: 2048) {
        """
        Maximum logins at once, of all applications: \($0). Fewer if [the machine is overloaded](limits.md#at-once). A \
        further login fails with `overloaded`.
        """
    }
    static let concurrentCalls = Variable.integer("graph.concurrent.calls", in: 1...100_000, "calls", standard: 4096) {
        """
        Maximum requests to Graph and Twitter at once: \($0). A login with Facebook makes two, a login with Twitter \
        one for each consumer key that is tried.
        """
    }
    static let pipelinedConnections = Variable.integer(
        "database.pipelined.connections",
        in: 1...64,
        "connections",
        standard: 4
    ) {
        "Connections for single statements, which stay open: \($0). Each has up to 64 statements in flight."
    }
    static let exclusiveConnections = Variable.integer(
        "database.exclusive.connections",
        in: 1...64,
        "connections",
        standard: 4
    ) {
        "Maximum connections for transactions: \($0). They open when first needed."
    }
    static let databaseQueue = Variable.integer("database.queue", in: 1...100_000, "statements", standard: 1024) {
        "Maximum waiting statements: \($0). A further one fails with `overloaded`."
    }
    static let concurrentSearches = Variable.integer("concurrent.searches", in: 1...64, "searches", standard: 2) {
        """
        Maximum searches of users at once: \($0), each on its own connection and one processor. A further one waits \
        for [its application's turn](limits.md#at-once), at most `FEDERATION_DATABASE_LEASE_MILLISECONDS`, plus twice \
        `FEDERATION_SEARCH_MILLISECONDS` if its application has no running search. Then it fails with `overloaded`.
        """
    }
    static let loginLogRowsPerSecond = Variable.integer(
        "login.log.rows.per.second",
        in: 1...1000,
        "rows",
        standard: 200
    ) {
        """
        Maximum refused logins per second that one instance writes to the [login \
        log](administration.md#the-log-of-logins): \($0). Successful logins are always written, and the counts include \
        all.
        """
    }
    static let maintenanceChecksPerSecond = Variable.integer(
        "maintenance.checks.per.second",
        in: 1...1000,
        "checks",
        standard: 10
    ) {
        """
        Maximum stored tokens that one instance checks per second: \($0). See [background \
        work](operations/capacity.md#work-in-the-background).
        """
    }
    static let passwordHashes = Variable.integer("password.hashes", in: 0...1024, "hashes", standard: 0) {
        """
        Maximum password hashes computed at once: \($0). 0 means one for every two cores, at least one. Each needs 19 \
        MiB and one core for some tens of milliseconds; a hash [of another \
        system](security.md#hashes-of-other-systems) up to 64 MiB and a second.
        """
    }
    static let passwordQueue = Variable.integer("password.queue", in: 1...100_000, "hashes", standard: 256) {
        """
        Maximum waiting password hashes: \($0). [Applications and their sources take turns](limits.md#at-once). If the \
        queue is full, the last hash of the source with the most waiting fails with `overloaded`, as does one that has \
        waited for `FEDERATION_LOGIN_MILLISECONDS`.
        """
    }
    static let httpConnections = Variable.integer("http.connections", in: 1...1_000_000, "connections", standard: 8192)
    {
        """
        Maximum HTTP connections on each listener: \($0). Fewer if the [limit of open files](operations/install.md) is \
        low. Further connections wait to be accepted.
        """
    }
    static let httpConnectionsOfSource = Variable.integer(
        "http.connections.source",
        in: 1...1_000_000,
        "connections",
        standard: 1024
    ) {
        """
        Maximum HTTP connections of one [source](limits.md#connections-and-what-waits) on each listener: \($0). A \
        network may have twice as many. A further connection is closed. Of HTTP/2 \
        requests beyond the first of each connection a quarter as many may be open. If the limit of all connections is lower, connections of a source wait as others do.
        """
    }
    static let httpWaitingMebibytes = Variable.integer("http.waiting.mebibytes", in: 1...65_536, "MiB", standard: 16) {
        """
        Maximum memory for data that [waits](limits.md#connections-and-what-waits) on all connections of a listener, \
        incomplete request bodies and unread responses: \($0).
        """
    }

    static let all: [any DeclaredVariable] = [
        concurrentLogins, concurrentCalls, pipelinedConnections, exclusiveConnections, databaseQueue,
        concurrentSearches, loginLogRowsPerSecond, maintenanceChecksPerSecond, passwordHashes, passwordQueue,
        httpConnections, httpConnectionsOfSource, httpWaitingMebibytes,
    ]
}

/// The configuration variables for connection poolers between the service and PostgreSQL, such as PgBouncer.
enum PoolerVariables {
    static let preparedStatements = Variable.flag(
        "database.prepared.statements",
        standard: true,
        "Set it to `false` for a pooler in transaction mode. See [Poolers](#poolers-1)."
    )

    static let all: [any DeclaredVariable] = [preparedStatements]
}

/// The configuration variables for rate limits.
enum RateVariables {
    static let all: [any DeclaredVariable] = LimitPolicy.all.map(Variable.init)
}

extension Variable<Rate?> {
    /// Declares the configuration variable for the rate of a limit; the value nil means no limit.
    init(_ policy: LimitPolicy) {
        self.init(
            "limit." + policy.name,
            "rate",
            standard: policy.standard,
            text: policy.standard?.description ?? "off",
            policy.meaning
        ) { text throws(WrongValue) in
            guard text != "off" else { return nil }
            guard let rate = Rate(text) else {
                throw WrongValue(
                    "must be off, or a rate like 100/s, 600/min or 100/s burst 1000, of numbers from 1 to 1000000"
                )
            }
            return rate
        }
    }
}
