import FoundationEssentials
import Postgres
package import Vocabulary

/// A row of the log of logins.
package struct LoginEntry: Sendable {
    package let id: Int64
    /// Milliseconds since 1970 UTC.
    package let happened: Int64
    package let application: String
    package let method: String
    package let provider: String?
    package let credential: String
    package let outcome: String
    /// As the version that wrote it had it.
    package let reason: String?
    package let cause: String?
    package let user: ObjectID?
    package let request: String?
    package let source: String?
    package let userAgent: String?
    /// The id of the session that was opened; nil where none was, and where the user was erased since.
    package let session: String?
    package let milliseconds: Int64
}

/// Which logins are wanted; what is nil does not matter.
package struct LoginFilter: Sendable {
    package var application: ApplicationID?
    package var method: LoginRecord.Method?
    package var provider: ProviderName?
    package var outcome: LoginRecord.Outcome?
    package var reason: String?
    package var source: String?
    package var user: ObjectID?
    /// Milliseconds since 1970 UTC, inclusive.
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

/// From where the log is read, and in which direction.
package enum LoginPlace: Sendable {
    /// The newest first: those with ids below; nil for the end of the log.
    case before(Int64?)
    /// The oldest first: what was written since.
    case after(Int64)
}

/// A part of a chart.
package struct LoginBucket: Sendable {
    /// When it begins: milliseconds since 1970 UTC.
    package let starts: Int64
    package let method: String
    package let provider: String?
    package let outcome: String
    package let count: LoginCount
}

/// How often logins were refused for a reason.
package struct LoginRefusals: Sendable {
    package let method: String
    package let provider: String?
    package let reason: String
    package let logins: Int64
}

extension Store {
    /// Rows of the log of logins.
    ///
    /// Each filter has an index, which begins with the application: where none is asked for, that of each application
    /// is asked.
    package func logins(
        matching filter: LoginFilter,
        _ place: LoginPlace,
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
        let result = try await query(statement)
        return try read { () throws(PostgresError) in
            var entries: [LoginEntry] = []
            for row in result.rows { entries.append(try LoginEntry(row)) }
            return entries
        }
    }

    /// Sessions of a user with where and with what they were opened, as far as the user's newest 1,000 rows of the log
    /// tell.
    ///
    /// A list of sessions is of use without: where the log cannot be read, nothing is known of any of them. A login by
    /// a server of the application's came from that, which says nothing of the user, and one that was repeated came
    /// first from where its session was opened.
    package func locating<Session: LocatedSession>(
        _ sessions: [Session],
        of user: ObjectID,
        in application: ApplicationID
    ) async -> [Session] {
        guard let oldest = sessions.map(\.created).min() else { return sessions }
        // Ids of rows are times, of another database perhaps.
        let first = (oldest - 60_000) << 10
        let origins = try? await query(
            """
            select session, source, user_agent from (
                select id, method, session, source, user_agent from federation.login_log
                where application_id = \(application.text) and object_id = \(user.uuid) and id >= \(first)
                order by id desc limit 1000
            ) newest
            where session is not null and method <> 'server' order by id desc
            """
        ).origins
        return sessions.map { session in
            var session = session
            session.origin = origins?[session.id] ?? .unknown
            return session
        }
    }

    /// How many logins the log has no row of.
    ///
    /// - Parameters:
    ///   - filter: Which logins count. Its source, user and moment are passed over, since the counts do not have them.
    ///   - since: Seconds since 1970 UTC, at which an hour begins.
    /// - Returns: Their number.
    /// - Throws: `store_unavailable` and its like.
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
        let result = try await query(statement)
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: Int64.self) ?? 0 }
    }

    /// How many logins there were since a moment, in parts of so many seconds.
    ///
    /// - Parameters:
    ///   - application: Whose; nil for all.
    ///   - since: Seconds since 1970 UTC, at which a part begins.
    ///   - width: Of a part, in seconds; those of whole hours are kept for as long as the log, others for a day.
    /// - Returns: The parts in their order, and for which reasons logins were refused in all of that time.
    /// - Throws: `store_unavailable` and its like.
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
        return try read { () throws(PostgresError) in
            (
                try buckets.rows.map { (row) throws(PostgresError) in
                    LoginBucket(
                        starts: try row.decode(0, as: Int64.self) * 1000,
                        method: try row.decode(1, as: String.self),
                        provider: try row.decode(2, as: String.self).orNil,
                        outcome: try row.decode(3, as: String.self),
                        count: LoginCount(
                            logins: try row.decode(4, as: Int64.self),
                            unlisted: try row.decode(5, as: Int64.self)
                        )
                    )
                },
                try refusals.rows.map { (row) throws(PostgresError) in
                    LoginRefusals(
                        method: try row.decode(0, as: String.self),
                        provider: try row.decode(1, as: String.self).orNil,
                        reason: try row.decode(2, as: String.self),
                        logins: try row.decode(3, as: Int64.self)
                    )
                }
            )
        }
    }
}

extension LoginPlace {
    fileprivate var direction: String {
        switch self {
        case .before: "desc"
        case .after: "asc"
        }
    }
}

extension LoginFilter {
    /// Whether the primary key serves it.
    fileprivate var isOfTime: Bool {
        method == nil && provider == nil && outcome == nil && reason == nil && source == nil && user == nil
    }

    fileprivate func conditions(_ place: LoginPlace) -> Statement {
        var conditions: Statement =
            switch place {
            case .before(let id): "id < \(id ?? .max)"
            case .after(let id): "id > \(id)"
            }
        if let since {
            // A row is written after what it tells of.
            let milliseconds = max(0, min(since, .max >> 10))
            conditions.append("and id >= \(milliseconds) * \(unsafeRaw: Store.idsOfMillisecond)")
            conditions.append("and happened >= \(Timestamp(milliseconds: since))")
        }
        if let provider { conditions.append("and method = 'provider' and provider = \(provider.text)") }
        if let method {
            conditions.append("and method = \(method.rawValue)")
            if method != .provider { conditions.append("and provider is null") }
        }
        // As text, by which the planner knows a partial index.
        if let outcome { conditions.append("and outcome = '\(unsafeRaw: outcome.rawValue)'") }
        if let reason { conditions.append("and reason = \(reason)") }
        if let source { conditions.append("and source = \(source)") }
        if let user { conditions.append("and object_id = \(user.uuid)") }
        return conditions
    }
}

extension ResultSet {
    /// Where sessions were opened, by their ids, of rows from the newest on.
    fileprivate var origins: [String: SessionOrigin] {
        get throws(PostgresError) {
            var origins: [String: SessionOrigin] = [:]
            for row in rows {
                origins[try row.decode(0, as: String.self)] = SessionOrigin(
                    source: try row.decode(1, as: String?.self),
                    userAgent: try row.decode(2, as: String?.self)
                )
            }
            return origins
        }
    }
}

extension LoginEntry {
    fileprivate init(_ row: Row) throws(PostgresError) {
        self.init(
            id: try row.decode(0, as: Int64.self),
            happened: try row.decode(1, as: Timestamp.self).milliseconds,
            application: try row.decode(2, as: String.self),
            method: try row.decode(3, as: String.self),
            provider: try row.decode(4, as: String?.self),
            credential: try row.decode(5, as: String.self),
            outcome: try row.decode(6, as: String.self),
            reason: try row.decode(7, as: String?.self),
            cause: try row.decode(8, as: String?.self),
            user: try row.decode(9, as: UUID?.self).map { ObjectID($0) },
            request: try row.decode(10, as: String?.self),
            source: try row.decode(11, as: String?.self),
            userAgent: try row.decode(12, as: String?.self),
            session: try row.decode(13, as: String?.self),
            milliseconds: try row.decode(14, as: Int64.self)
        )
    }
}

extension String {
    /// As part of a key nothing is an empty text.
    fileprivate var orNil: String? { isEmpty ? nil : self }
}
