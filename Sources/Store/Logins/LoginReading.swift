package import Domain
import FoundationEssentials
import Postgres

/// A row of the login log.
package struct LoginEntry: Sendable {
    package let id: Int64
    /// The time of the login, in milliseconds since 1970 UTC.
    package let happened: Int64
    package let application: String
    package let method: String
    package let provider: String?
    package let credential: String
    package let outcome: String
    /// Why the login was refused, in the words of the version of the service that wrote the row.
    package let reason: String?
    package let cause: String?
    package let user: ObjectID?
    package let request: String?
    package let source: String?
    package let userAgent: String?
    /// The id of the session that was opened; nil if there was none, or if the user has been erased since.
    package let session: String?
    package let milliseconds: Int64
}

/// A filter of logins; a nil member matches every login.
package struct LoginFilter: Sendable {
    package var application: ApplicationID?
    package var method: LoginRecord.Method?
    package var provider: ProviderName?
    package var outcome: LoginRecord.Outcome?
    package var reason: String?
    package var source: String?
    package var user: ObjectID?
    /// The earliest time of a login, in milliseconds since 1970 UTC.
    package var since: Int64?

    package init(
        application: ApplicationID? = nil,
        method: LoginRecord.Method? = nil,
        provider: ProviderName? = nil,
        outcome: LoginRecord.Outcome? = nil,
        reason: String? = nil,
        source: String? = nil,
        user: ObjectID? = nil,
        since: Int64? = nil
    ) {
        self.application = application
        self.method = method
        self.provider = provider
        self.outcome = outcome
        self.reason = reason
        self.source = source
        self.user = user
        self.since = since
    }
}

/// A position in the log and a reading direction.
package enum LogPosition: Sendable {
    /// Rows with ids below this one, the newest first; nil for the end of the log.
    case before(Int64?)
    /// Rows that were written after this id, the oldest first.
    case after(Int64)
}

/// The number of logins of one kind in one time interval of a chart.
package struct LoginBucket: Sendable {
    /// The start of the interval: milliseconds since 1970 UTC.
    package let starts: Int64
    package let method: String
    package let provider: String?
    package let outcome: String
    package let count: LoginCount
}

/// The number of logins that were refused for a reason.
package struct LoginRefusals: Sendable {
    package let method: String
    package let provider: String?
    package let reason: String
    package let logins: Int64
}

extension Store {
    /// Returns rows of the login log.
    ///
    /// Each filter has an index that begins with the application. Without an application in the filter, the index is
    /// searched for each application.
    package func logins(
        matching filter: LoginFilter,
        _ place: LogPosition,
        limit: Int
    ) async throws(Failure) -> [LoginEntry] {
        let conditions = filter.conditions(place)
        let order: Statement = "order by id \(unsafeRaw: place.direction) limit \(limit)"
        let columns = """
            id, happened, application_id, method, provider, credential, outcome, reason, cause, object_id, request,
            source, user_agent, session, milliseconds
            """
        let statement: Statement
        if let application = filter.application {
            statement = """
                select \(unsafeRaw: columns) from federation.login_log
                where application_id = \(application.text) and \(conditions) \(order)
                """
        } else if filter.isOfTime {
            statement = "select \(unsafeRaw: columns) from federation.login_log where \(conditions) \(order)"
        } else {
            statement = """
                select l.* from federation.applications a cross join lateral (
                    select \(unsafeRaw: columns) from federation.login_log
                    where application_id = a.id and \(conditions) \(order)
                ) l \(order)
                """
        }
        return try await query(statement).all(by: LoginEntry.init)
    }

    /// Returns sessions of a user, each with its origin: the network address and the user agent that opened it.
    ///
    /// The origins are read from the user's newest 1,000 rows of the login log.
    ///
    /// If the log cannot be read, all origins are unknown: the list of sessions is useful even so. Logins by a server
    /// of the application are left out, since their source is the server, which says nothing about the user. If a login
    /// was repeated, its first row tells where the session was opened.
    package func locating<Session: LocatedSession>(
        _ sessions: [Session],
        of user: ObjectID,
        in application: ApplicationID
    ) async -> [Session] {
        guard let oldest = sessions.map(\.created).min() else { return sessions }
        // A row's id contains its time. The clock of another database may have set `created`: hence the margin of a
        // minute.
        let first = (oldest - 60_000) << 10
        let rows = try? await query(
            """
            select session, source, user_agent from (
                select id, method, session, source, user_agent from federation.login_log
                where application_id = \(application.text) and object_id = \(user.uuid) and id >= \(first)
                order by id desc limit 1000
            ) newest
            where session is not null and method <> 'server' order by id desc
            """
        ).all(String.self, String?.self, String?.self)
        // The newest row comes first. The last row of a session tells where the session was opened.
        let origins = Dictionary(rows?.map { ($0, SessionOrigin(source: $1, userAgent: $2)) } ?? []) { $1 }
        return sessions.map { session in
            var session = session
            session.origin = origins[session.id] ?? .unknown
            return session
        }
    }

    /// Returns the number of logins that have no row in the log.
    ///
    /// - Parameters:
    ///   - filter: The logins to count. Its source, user and time are ignored, since the counters lack them.
    ///   - since: The start of an hour, in seconds since 1970 UTC.
    /// - Returns: The number.
    /// - Throws: `store_unavailable` and similar failures.
    package func unlistedLogins(matching filter: LoginFilter, since: Int64) async throws(Failure) -> Int64 {
        var statement: Statement = """
            select coalesce(sum(unlisted), 0)::bigint from federation.login_counts
            where seconds = 3600 and starts >= to_timestamp(\(since)::bigint)
            """
        if let application = filter.application { statement.append("and application_id = \(application.text)") }
        if let provider = filter.provider {
            statement.append("and method = 'provider' and provider = \(provider.text)")
        }
        if let method = filter.method { statement.append("and method = \(method.rawValue)") }
        if let outcome = filter.outcome { statement.append("and outcome = \(outcome.rawValue)") }
        if let reason = filter.reason { statement.append("and reason = \(reason)") }
        return try await query(statement).first(Int64.self) ?? 0
    }

    /// Returns the numbers of logins since a time, by intervals.
    ///
    /// - Parameters:
    ///   - application: The application; nil for all.
    ///   - since: The start of an interval, in seconds since 1970 UTC.
    ///   - width: The length of an interval in seconds. Counts of whole hours are kept for as long as the log, other
    ///     counts for a day.
    /// - Returns: The intervals in order, and the reasons of refusals during the whole time.
    /// - Throws: `store_unavailable` and similar failures.
    package func loginCounts(
        of application: ApplicationID?,
        since: Int64,
        width: Int64
    ) async throws(Failure) -> (buckets: [LoginBucket], refusals: [LoginRefusals]) {
        var counts: Statement = """
            from federation.login_counts where seconds = \(unsafeRaw: width.isMultiple(of: 3600) ? "3600" : "60")
                and starts >= to_timestamp(\(since)::bigint)
            """
        if let application { counts.append("and application_id = \(application.text)") }
        let buckets = try await query(
            """
            select extract(epoch from starts)::bigint / \(width)::bigint * \(width)::bigint, method, provider, outcome,
                sum(logins)::bigint, sum(unlisted)::bigint
            \(counts) group by 1, 2, 3, 4 order by 1, 2, 3, 4
            """
        )
        let refusals = try await query(
            """
            select method, provider, reason, sum(logins)::bigint \(counts) and reason <> ''
            group by 1, 2, 3 order by 4 desc, 1, 2, 3
            """
        )
        return (
            try buckets.all { row throws(PostgresError) in
                LoginBucket(
                    starts: try row.next(Int64.self) * 1000,
                    method: try row.next(),
                    provider: try row.next(String.self).orNil,
                    outcome: try row.next(),
                    count: LoginCount(logins: try row.next(), unlisted: try row.next())
                )
            },
            try refusals.all { row throws(PostgresError) in
                LoginRefusals(
                    method: try row.next(),
                    provider: try row.next(String.self).orNil,
                    reason: try row.next(),
                    logins: try row.next()
                )
            }
        )
    }
}

extension LogPosition {
    fileprivate var direction: String {
        switch self {
        case .before: "desc"
        case .after: "asc"
        }
    }
}

extension LoginFilter {
    /// Whether the filter has no condition but the application and the time.
    ///
    /// Such a filter for all applications is served by the primary key of the login log.
    fileprivate var isOfTime: Bool {
        method == nil && provider == nil && outcome == nil && reason == nil && source == nil && user == nil
    }

    fileprivate func conditions(_ place: LogPosition) -> Statement {
        var conditions: Statement =
            switch place {
            case .before(let id): "id < \(id ?? .max)"
            case .after(let id): "id > \(id)"
            }
        if let since {
            // A row is written after its login, so the time in its id is not earlier than the login.
            let milliseconds = max(0, min(since, .max >> 10))
            conditions.append("and id >= \(milliseconds) * \(unsafeRaw: Store.idsOfMillisecond)")
            conditions.append("and happened >= \(Timestamp(milliseconds: since))")
        }
        if let provider { conditions.append("and method = 'provider' and provider = \(provider.text)") }
        if let method {
            conditions.append("and method = \(method.rawValue)")
            if method != .provider { conditions.append("and provider is null") }
        }
        // This is a literal, since the planner uses a partial index only for a value that it knows.
        if let outcome { conditions.append("and outcome = '\(unsafeRaw: outcome.rawValue)'") }
        if let reason { conditions.append("and reason = \(reason)") }
        if let source { conditions.append("and source = \(source)") }
        if let user { conditions.append("and object_id = \(user.uuid)") }
        return conditions
    }
}

extension LoginEntry {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        self.init(
            id: try row.next(),
            happened: try row.next(Timestamp.self).milliseconds,
            application: try row.next(),
            method: try row.next(),
            provider: try row.next(),
            credential: try row.next(),
            outcome: try row.next(),
            reason: try row.next(),
            cause: try row.next(),
            user: try row.next(),
            request: try row.next(),
            source: try row.next(),
            userAgent: try row.next(),
            session: try row.next(),
            milliseconds: try row.next()
        )
    }
}

extension String {
    /// The text; nil if it is empty.
    ///
    /// The text comes from a column of a key, where an empty text stands for a missing value.
    fileprivate var orNil: String? { isEmpty ? nil : self }
}
