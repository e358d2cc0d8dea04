package import Domain
import Encodings
import Postgres

/// The result of a search, and the milliseconds that PostgreSQL took for it.
package struct SearchResult<Value: Sendable>: Sendable {
    package let value: Value
    package let milliseconds: Int64
}

extension Store {
    /// Returns the users that match a query, in its order.
    ///
    /// - Throws: `query_too_slow` when the search exceeds the statement timeout, `query_too_large` when the users
    ///   exceed the byte limit of a result; `store_unavailable` and similar failures.
    package func users(
        matching query: UserQuery,
        of application: Application
    ) async throws(Failure) -> SearchResult<[User]> {
        let columns = UserColumns(application: application)
        let (result, milliseconds) = try await search(
            Self.statement(for: query, columns, of: application),
            query,
            using: query.isServed,
            of: application
        )
        return SearchResult(value: try result.all(by: columns.user), milliseconds: milliseconds)
    }

    /// Returns the users that match a query, in its order, with the details that Firebase's administrators see.
    ///
    /// - Throws: Like ``users(matching:of:)``.
    package func accounts(
        matching query: UserQuery,
        of application: Application
    ) async throws(Failure) -> SearchResult<[AccountDetails]> {
        let columns = UserColumns(application: application)
        let (result, milliseconds) = try await search(
            Self.statement(for: query, columns, with: ", " + AccountDetails.list(of: application), of: application),
            query,
            using: query.isServed,
            of: application
        )
        let found = try result.all { (row) throws(PostgresError) in
            try AccountDetails(&row, of: columns.user(in: &row))
        }
        return SearchResult(value: found, milliseconds: milliseconds)
    }

    /// Returns the ids of the users with the given e-mail addresses, ignoring case.
    ///
    /// Several users may have one address. The first is the user who logs in with the address and a password. Users who
    /// have confirmed the address follow, then the others, the oldest first.
    ///
    /// - Throws: Like ``users(matching:of:)``.
    package func users(
        withEmails emails: [String],
        limit: Int64,
        of application: Application
    ) async throws(Failure) -> SearchResult<[ObjectID]> {
        let schema: Statement = "\(identifier: application.schema)"
        let emails = emails.map { $0.lowercased() }
        let (result, milliseconds) = try await search(
            """
            select u.object_id from \(schema).users u left join \(schema).passwords p using (object_id)
            where lower(u.email) = any (\(emails))
            order by p.login = any (\(emails)) desc nulls last, u.email_verified desc, u.created, u.object_id
            limit \(limit)
            """,
            UserQuery(limit: limit),
            using: true,
            of: application
        )
        return SearchResult(value: try result.all(ObjectID.self), milliseconds: milliseconds)
    }

    /// Returns the number of users that match a filter; of all users when it is nil.
    ///
    /// - Throws: Like ``users(matching:of:)``.
    package func userCount(
        matching filter: UserFilter?,
        of application: Application
    ) async throws(Failure) -> SearchResult<Int64> {
        var query = UserQuery(limit: 1)
        query.filter = filter
        let statement: Statement = """
            select count(*) from \(identifier: application.schema).users u \(filter.clause(in: application.schema))
            """
        let (result, milliseconds) = try await search(statement, query, using: query.indexUse.narrows, of: application)
        return SearchResult(value: try result.first(Int64.self) ?? 0, milliseconds: milliseconds)
    }

    /// Returns the statement of a search.
    ///
    /// If an index narrows the search but no index has its order, a subquery with an optimization fence (`offset 0`)
    /// finds the matches, and they are sorted outside the subquery. Without the fence, PostgreSQL would scan all users
    /// by their ids whenever it expects enough of them to match.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - columns: The columns of the users.
    ///   - more: The rest of the select list, after the columns of the users.
    ///   - application: The application of the users.
    /// - Returns: The statement.
    static func statement(
        for query: UserQuery,
        _ columns: UserColumns,
        with more: String = "",
        of application: Application
    ) -> Statement {
        let users: Statement = "\(identifier: application.schema).users u"
        let condition = query.filter.clause(in: application.schema)
        let (use, alike) = (query.indexUse, query.distinct.list)
        let source: Statement =
            if !query.distinct.isEmpty {
                "(select distinct on (\(alike)) u.* from \(users) \(condition) order by \(alike), u.object_id) u"
            } else if use.narrows, !use.orders {
                "(select u.* from \(users) \(condition) offset 0) u"
            } else {
                "\(users) \(condition)"
            }
        let list = columns.list(of: "u", for: query) + more
        var statement: Statement = "select \(unsafeRaw: list) from \(source) order by"
        for order in query.orderByIndex {
            statement.append(
                "\(order.column.key) \(unsafeRaw: order.isDescending ? "desc nulls last" : "asc nulls first"),"
            )
        }
        // The ids have the direction of the preceding column, so that one index serves both.
        let direction = query.order.last?.isDescending == true ? "desc" : "asc"
        statement.append("u.object_id \(unsafeRaw: direction) limit \(query.limit) offset \(query.offset)")
        return statement
    }

    /// Runs a search in a read-only transaction on one processor.
    ///
    /// - Parameters:
    ///   - statement: The statement of the search.
    ///   - query: The query that the statement was made from.
    ///   - usesIndex: Whether to force the use of an index; otherwise the planner's statistics decide.
    ///   - application: The application of the users.
    /// - Returns: The rows, and the milliseconds that they took.
    /// - Throws: `query_too_slow`, `query_too_large`; `store_unavailable` and similar failures.
    private func search(
        _ statement: Statement,
        _ query: UserQuery,
        using usesIndex: Bool,
        of application: Application
    ) async throws(Failure) -> (Answer, Int64) {
        let settings = """
            set transaction read only; set local max_parallel_workers_per_gather = 0;
            set local enable_seqscan = \(usesIndex ? "off" : "on")
            """
        return try await transaction(of: application) { connection in
            try await connection.execute(script: settings)
            let started = ContinuousClock.now
            var milliseconds: Int64 { Int64(started.duration(to: .now) / .milliseconds(1)) }
            do throws(PostgresError) {
                return (Answer(result: try await connection.query(statement)), milliseconds)
            } catch {
                if case .tooLarge(let excess) = error, excess.column == nil {
                    throw Failure.pageTooLarge(over: excess.limit, cause: "\(excess)")
                }
                guard error.sqlState == "57014" else { throw error }
                throw Failure.tooSlow(query, after: milliseconds)
            }
        }
    }
}

extension UserQuery {
    /// Whether an index serves the query.
    fileprivate var isServed: Bool { indexUse.narrows || filter == nil && indexUse.orders }
}

extension Failure {
    /// Returns the failure of a search that was canceled by the statement timeout.
    fileprivate static func tooSlow(_ query: UserQuery, after milliseconds: Int64) -> Failure {
        let properties = query.propertiesToIndex.map(\.text)
        var advice = "Narrow it"
        if query.offset > 0 { advice += ", or go on by a condition instead of an offset" }
        if !properties.isEmpty {
            advice += ", or have the operator index \(properties.joined(separator: " or "))"
        }
        return Failure(
            .queryTooSlow,
            "The search did not finish within \(milliseconds) ms. \(advice).",
            details: [
                "milliseconds": .integer(milliseconds), "propertiesToIndex": .array(properties.map(JSONValue.string)),
            ]
        )
    }
}

extension [UserColumn] {
    /// The columns, separated by commas.
    fileprivate var list: Statement {
        var list: Statement = ""
        for (index, column) in enumerated() {
            if index > 0 { list.append(",") }
            list.append(column.name)
        }
        return list
    }
}

extension UserFilter? {
    fileprivate func clause(in schema: String) -> Statement {
        map { "where \($0.condition(in: schema))" } ?? ""
    }
}

extension Store {
    /// Returns the roles that were given to a user, in the order of their names; none for an unknown user.
    package func roles(of user: ObjectID, in application: Application) async throws(Failure) -> [String] {
        let result = try await query(
            """
            select coalesce(array_agg(role order by role), '{}')
            from \(identifier: application.schema).user_roles where object_id = \(user.uuid)
            """,
            of: application
        )
        return try result.first([String].self) ?? []
    }

    /// Returns the roles that were given to each of several users, in the order of `users`.
    package func roles(of users: [ObjectID], in application: Application) async throws(Failure) -> [[String]] {
        let result = try await query(
            """
            select (
                select coalesce(array_agg(r.role order by r.role), '{}')
                from \(identifier: application.schema).user_roles r where r.object_id = asked.id
            )
            from unnest(\(users.map(\.description))::uuid[]) with ordinality as asked (id, position) order by asked.position
            """,
            of: application,
            isRare: true
        )
        return try result.all([String].self)
    }
}
