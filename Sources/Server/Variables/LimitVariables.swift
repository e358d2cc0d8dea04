import Limiting
import Providers

/// The variables of timeouts.
enum TimeVariables {
    static let login = Variable.milliseconds(
        "login",
        standard: 5000,
        """
        a login; the provider must have answered one second (or a fifth of it, if that is less) before its end, and \
        after its end no further attempt to write is begun; a write under way keeps its own limits below
        """
    )
    static let databaseConnect = Variable.milliseconds(
        "database.connect",
        standard: 2000,
        "one attempt to open a connection to one database host"
    )
    static let databaseLease = Variable.milliseconds(
        "database.lease",
        standard: 1000,
        "waiting for a database connection"
    )
    static let databaseStatement = Variable.milliseconds(
        "database.statement",
        standard: 2000,
        "one statement; a reply that is a second later than this ends the connection"
    )
    static let databaseLock = Variable.milliseconds("database.lock", standard: 1000, "waiting for a lock in PostgreSQL")
    static let databaseIdleInTransaction = Variable.milliseconds(
        "database.idle.in.transaction",
        standard: 5000,
        "a pause inside a transaction"
    )
    static let databaseTCPUser = Variable.milliseconds(
        "database.tcp.user",
        standard: 5000,
        "sent bytes without acknowledgement, after which the kernel gives a connection up"
    )
    static let search = Variable.milliseconds(
        "search",
        standard: 1000,
        "the statement of a [search of users](api.md#search-users); one that takes longer is `query_too_slow`"
    )
    static let httpRead = Variable.milliseconds(
        "http.read",
        standard: 10_000,
        """
        a TLS handshake; and the arrival of a request: the first from the opening of its connection, or from the end \
        of the handshake, each further one from its first byte, or, if a part of its head has come in one piece with \
        the end of the request before, from the next one; until then it has the time of an idle connection
        """
    )
    static let httpWrite = Variable.milliseconds(
        "http.write",
        standard: 10_000,
        """
        how long the other end may take nothing of what waits for it; over HTTP/2 this ends the reply's stream, or the \
        connection
        """
    )
    static let httpIdle = Variable.milliseconds(
        "http.idle",
        standard: 60_000,
        "an HTTP connection on which nothing happens; over HTTP/2, on which no request is under way"
    )
    static let upkeepInterval = Variable.milliseconds(
        "upkeep.interval",
        standard: 5000,
        """
        from the end of one round of [work in the background](operations/capacity.md#work-in-the-background) to the \
        next
        """
    )
    static let upkeepLease = Variable.milliseconds(
        "upkeep.lease",
        standard: 60_000,
        """
        how long identities that one instance has taken to check are kept from the others, so how long they wait when \
        that instance is killed
        """
    )
    static let smtpConnect = Variable.milliseconds(
        "smtp.connect",
        standard: 15_000,
        "from connecting to the mail server to its first word"
    )
    static let smtpCall = Variable.milliseconds(
        "smtp.call",
        standard: 120_000,
        """
        handing one mail to the mail server; when it runs out after the whole mail was sent, the mail may have been \
        accepted and is not sent again, so be generous
        """
    )
    static let smsConnect = Variable.milliseconds(
        "sms.connect",
        standard: 2000,
        "connecting to the SMS gateway: address, TCP and TLS"
    )
    static let smsCall = Variable.milliseconds(
        "sms.call",
        standard: 10_000,
        """
        handing one message to the SMS gateway, for which somebody waits; it is not handed over again, whatever the \
        answer
        """
    )
    static let drain = Variable.milliseconds(
        "drain",
        standard: 10_000,
        "what requests in flight may take after SIGTERM; then they are cut off"
    )

    static let all: [any DeclaredVariable] =
        [login] + ProviderKinds.variables.filter { $0 is Variable<Duration> } + [
            databaseConnect, databaseLease, databaseStatement, databaseLock, databaseIdleInTransaction,
            databaseTCPUser, search, httpRead, httpWrite, httpIdle, upkeepInterval, upkeepLease, smtpConnect,
            smtpCall, smsConnect, smsCall, drain,
        ]
}

/// The variables of numeric limits.
enum NumberVariables {
    static let concurrentLogins = Variable.integer("concurrent.logins", in: 1...100_000, "logins", standard: 2048) {
        """
        logins under way at once, \($0), of all applications, and fewer where [the machine has too much to \
        do](limits.md#at-once); one more is answered `overloaded`
        """
    }
    static let concurrentCalls = Variable.integer("graph.concurrent.calls", in: 1...100_000, "calls", standard: 4096) {
        """
        calls of Graph and Twitter under way at once, \($0); a login with Facebook makes two, one with Twitter one for \
        each consumer key that is asked
        """
    }
    static let pipelinedConnections = Variable.integer(
        "database.pipelined.connections",
        in: 1...64,
        "connections",
        standard: 4
    ) {
        "connections for single statements, \($0), kept open; up to 64 statements are in flight on each"
    }
    static let exclusiveConnections = Variable.integer(
        "database.exclusive.connections",
        in: 1...64,
        "connections",
        standard: 4
    ) {
        "connections for transactions, \($0), opened when first needed"
    }
    static let databaseQueue = Variable.integer("database.queue", in: 1...100_000, "statements", standard: 1024) {
        "statements that may wait, \($0); one more is answered `overloaded`"
    }
    static let concurrentSearches = Variable.integer("concurrent.searches", in: 1...64, "searches", standard: 2) {
        """
        searches of users under way at once, \($0), each on a connection of its own and one processor; one more waits \
        for [its application's turn](limits.md#at-once), for `FEDERATION_DATABASE_LEASE_MILLISECONDS` at most, or for \
        twice `FEDERATION_SEARCH_MILLISECONDS` more where its application has none under way, and is then answered \
        `overloaded`
        """
    }
    static let loginLogRowsPerSecond = Variable.integer(
        "login.log.rows.per.second",
        in: 1...1000,
        "rows",
        standard: 200
    ) {
        """
        of how many refused logins in a second one instance writes a row into the [log of \
        logins](administration.md#the-log-of-logins) at most, \($0); there is a row of each that succeeded, and the \
        counts have them all
        """
    }
    static let upkeepChecksPerSecond = Variable.integer(
        "upkeep.checks.per.second",
        in: 1...1000,
        "checks",
        standard: 10
    ) {
        """
        kept tokens that one instance checks in a second at most, \($0); see [work in the \
        background](operations/capacity.md#work-in-the-background)
        """
    }
    static let passwordHashes = Variable.integer("password.hashes", in: 0...1024, "hashes", standard: 0) {
        """
        hashes of passwords computed at once, \($0); 0 stands for one for every two cores, at least one; each takes 19 \
        MiB and one core for some tens of milliseconds, one [of another system](security.md#hashes-of-other-systems) \
        up to 64 MiB and a second
        """
    }
    static let passwordQueue = Variable.integer("password.queue", in: 1...100_000, "hashes", standard: 256) {
        """
        hashes that wait to be computed, \($0), of which [applications and the sources of each take \
        turns](limits.md#at-once); beyond them the last one of whoever has most waiting is answered `overloaded`, and \
        so is one that has waited for `FEDERATION_LOGIN_MILLISECONDS`
        """
    }
    static let httpConnections = Variable.integer("http.connections", in: 1...1_000_000, "connections", standard: 8192)
    {
        """
        HTTP connections at once on each listener, \($0), and fewer where the [limit of open \
        files](operations/install.md) is low; others wait to be accepted
        """
    }
    static let httpConnectionsOfSource = Variable.integer(
        "http.connections.source",
        in: 1...1_000_000,
        "connections",
        standard: 1024
    ) {
        """
        HTTP connections of one [source](limits.md#connections-and-what-waits) at once on each listener, \($0), and \
        requests of HTTP/2 beside one for each connection, a quarter as many; a network has those of two sources; one \
        more is closed. Where all connections are fewer than that, those of a source wait as others do
        """
    }
    static let httpWaitingMebibytes = Variable.integer("http.waiting.mebibytes", in: 1...65_536, "MiB", standard: 16) {
        """
        what [waits](limits.md#connections-and-what-waits) on all connections of a listener, \($0): requests for the \
        rest of their bodies, replies to be taken
        """
    }

    static let all: [any DeclaredVariable] = [
        concurrentLogins, concurrentCalls, pipelinedConnections, exclusiveConnections, databaseQueue,
        concurrentSearches, loginLogRowsPerSecond, upkeepChecksPerSecond, passwordHashes, passwordQueue,
        httpConnections, httpConnectionsOfSource, httpWaitingMebibytes,
    ]
}

/// The variables of connection poolers.
enum PoolerVariables {
    static let preparedStatements = Variable.flag(
        "database.prepared.statements",
        standard: true,
        "`false` for a pooler in transaction mode; see [Poolers](#poolers-1)"
    )

    static let all: [any DeclaredVariable] = [preparedStatements]
}

/// The variables of rate limits.
enum RateVariables {
    static let all: [any DeclaredVariable] = LimitPolicy.all.map(Variable.init)
}

extension Variable<Rate?> {
    /// The variable of a policy's rate; nil is no limit.
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
