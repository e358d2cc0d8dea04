import Postgres
package import Vocabulary

/// What a search found, and how many milliseconds PostgreSQL took for it.
package struct SearchResult<Value: Sendable>: Sendable {
    package let value: Value
    package let milliseconds: Int64
}

extension Store {
    /// The users that a query is about, in its order.
    ///
    /// - Throws: `query_too_slow` when it takes longer than a statement may, `query_too_large` when the users have more
    ///   bytes than a result may; `store_unavailable` and its like.
    package func users(
        matching query: UserQuery,
        of application: Application
    ) async throws(Failure) -> SearchResult<[User]> {
        let columns = UserColumns(application: application)
        let (result, milliseconds) = try await search(
            Self.statement(for: query, columns, of: application),
            query,
            using: query.indexUse.narrows || query.filter == nil && query.indexUse.orders,
            of: application
        )
        let users = try read { () throws(PostgresError) in
            var users: [User] = []
            users.reserveCapacity(result.count)
            for row in result.rows { users.append(try columns.user(in: row, from: 0)) }
            return users
        }
        return SearchResult(value: users, milliseconds: milliseconds)
    }

    /// How many users there are of whom a filter holds; of all when it is nil.
    ///
    /// - Throws: The same.
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
        let count = try read { () throws(PostgresError) in try result.first?.decode(0, as: Int64.self) ?? 0 }
        return SearchResult(value: count, milliseconds: milliseconds)
    }

    /// The statement of a search.
    ///
    /// Where an index narrows it and none has the order, those who are found are put in order behind a fence (`offset
    /// 0`): PostgreSQL would otherwise go through everybody by their ids whenever it takes enough of them for hits.
    static func statement(for query: UserQuery, _ columns: UserColumns, of application: Application) -> Statement {
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
        var statement: Statement = "select \(unsafeRaw: columns.list(of: "u", for: query)) from \(source) order by"
        for order in query.orderByIndex {
            statement.append(
                "\(order.column.key) \(unsafeRaw: order.isDescending ? "desc nulls last" : "asc nulls first"),"
            )
        }
        // In the direction of what is in front of it, so that one index has both.
        let direction = query.order.last?.isDescending == true ? "desc" : "asc"
        statement.append("u.object_id \(unsafeRaw: direction) limit \(query.limit) offset \(query.offset)")
        return statement
    }

    /// Runs a search, which reads and does nothing else, on one processor.
    ///
    /// - Parameters:
    ///   - statement: The search.
    ///   - query: What it was made from.
    ///   - usesIndex: Whether an index is taken whatever the statistics say; otherwise they decide.
    ///   - application: Whose users are asked.
    /// - Returns: Its rows, and how many milliseconds they took.
    /// - Throws: `query_too_slow`, `query_too_large`; `store_unavailable` and its like.
    private func search(
        _ statement: Statement,
        _ query: UserQuery,
        using usesIndex: Bool,
        of application: Application
    ) async throws(Failure) -> (ResultSet, Int64) {
        let settings = """
            set transaction read only; set local max_parallel_workers_per_gather = 0;
            set local enable_seqscan = \(usesIndex ? "off" : "on")
            """
        do {
            return try await tables(of: application).withTransaction { connection in
                try await connection.execute(script: settings)
                let started = ContinuousClock.now
                var milliseconds: Int64 { Int64(started.duration(to: .now) / .milliseconds(1)) }
                do throws(PostgresError) {
                    return (try await connection.query(statement), milliseconds)
                } catch {
                    if case .tooLarge(let excess) = error, excess.column == nil {
                        throw Failure.pageTooLarge(over: excess.limit, cause: "\(excess)")
                    }
                    guard error.sqlState == "57014" else { throw error }
                    throw Failure.tooSlow(query, after: milliseconds)
                }
            }
        } catch let error as PostgresError {
            throw await failure(of: error, in: application)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.internal, "The users could not be searched.", cause: "\(error)")
        }
    }
}

extension Failure {
    /// A search that was ended before it was done.
    fileprivate static func tooSlow(_ query: UserQuery, after milliseconds: Int64) -> Failure {
        let properties = query.propertiesToIndex.map(\.text)
        var advice = "Narrow it"
        if query.offset > 0 { advice += ", or go on by a condition instead of an offset" }
        if !properties.isEmpty {
            advice += ", or have the operator index \(properties.joined(separator: " or "))"
        }
        return Failure(
            .queryTooSlow,
            "The search was ended after \(milliseconds) ms, when it was not done. \(advice).",
            details: [
                "milliseconds": .integer(milliseconds), "propertiesToIndex": .array(properties.map(JSONValue.string)),
            ]
        )
    }
}

extension [UserColumn] {
    /// The columns with commas between them.
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
