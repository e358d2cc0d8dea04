import Postgres
package import Vocabulary

/// The index of an indexed property, as operators see it.
package struct PropertyIndexState: Sendable {
    package let property: PropertyName
    /// Whether it is there and serves; otherwise it is being built, or will be.
    package let isReady: Bool
    /// What stood in the way when it was built last.
    package let problem: String?
}

/// What became of the wish to have the indexes that are declared.
package enum IndexReconciliation: Sendable, Equatable {
    /// All that is declared is there, and nothing else; so many were built and dropped for that.
    case done(built: Int, dropped: Int)
    /// Something stood in the way; it is with the properties.
    case hindered(cause: String)
    /// Another instance is building indexes.
    case elsewhere
}

/// An index of ours on the column of a property.
///
/// Every other index of the table is the operator's, and is left alone.
struct PropertyIndex: Sendable {
    let name: String
    /// The schema of the table, which is not the application's where the table was adopted.
    let schema: String
    /// The column by the name that statements use.
    let column: String?
    /// Whether it is in the form of a text: see `UserColumn.key`.
    let isOfText: Bool
    /// One that is not is what a build has left that was cut off.
    let isValid: Bool

    static let prefix = "federation_indexed_"

    /// A name that no other index has had: a property may take the name of another whose index is there still.
    static func newName() -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return prefix + String(repeating: "0", count: 16 - number.utf8.count) + number
    }

    func serves(_ property: Property) -> Bool {
        isValid && column?.hasSameBytes(as: property.name.text) == true && isOfText == property.type.isText
    }

    func drop(concurrently: Bool = false) -> String {
        "drop index \(concurrently ? "concurrently " : "")if exists \(quoted(schema)).\(quoted(name))"
    }
}

extension Property {
    /// The key of a column as `create index` takes it: an expression in parentheses, the collation behind them.
    fileprivate func indexKey(of column: String) -> String {
        let column = quoted(column)
        return type.isText ? #"(left(\#(column), \#(PropertyType.keyCharacters))) collate "C""# : column
    }
}

extension UsersTable {
    /// Builds the index of a property, which serves comparisons, `in`, ranges, the beginning of a text and the order by
    /// it, with the id behind it as in the order of a search.
    ///
    /// - Throws: `conflict` when the table has no such column.
    func buildIndex(
        of property: Property,
        named name: String,
        on connection: PostgresConnection
    ) async throws -> String {
        let result = try await connection.query(
            """
            select p.column_name, i.column_name, format('%I.%I', n.nspname, t.relname)
            from federation.user_columns(\(schema)) p
            join federation.user_columns(\(schema)) i on i.name = 'object_id'
            join pg_class t on t.oid = p.relation join pg_namespace n on n.oid = t.relnamespace
            where p.name = \(property.name.text)
            """
        )
        guard let row = result.first else { throw ChangeTransaction.columnMissing(property.name) }
        return """
            create index concurrently \(quoted(name)) on \(try row.decode(2, as: String.self))
            (\(property.indexKey(of: try row.decode(0, as: String.self))) nulls first,
            \(quoted(try row.decode(1, as: String.self))))
            """
    }

    /// The indexes of properties.
    func indexes(on connection: PostgresConnection) async throws(PostgresError) -> [PropertyIndex] {
        try Self.indexes(in: try await connection.query(indexQuestion))
    }

    /// The question for the indexes of properties; none where there is no such table.
    var indexQuestion: Statement {
        """
        select x.relname::text, n.nspname::text, c.name, i.indkey[0] = 0, i.indisvalid
        from pg_index i join pg_class x on x.oid = i.indexrelid join pg_namespace n on n.oid = x.relnamespace
        left join federation.user_columns(\(schema)) c on c.number = case
            when i.indkey[0] <> 0 then i.indkey[0]
            else (select min(d.refobjsubid) from pg_depend d
                where d.classid = 'pg_class'::regclass and d.objid = i.indexrelid
                    and d.refclassid = 'pg_class'::regclass and d.refobjid = i.indrelid
                    and d.refobjsubid > 0 and d.refobjsubid <> all (i.indkey))
            end
        where i.indrelid = federation.users_table(\(schema)) and starts_with(x.relname, \(PropertyIndex.prefix))
        order by x.relname
        """
    }

    static func indexes(in result: ResultSet) throws(PostgresError) -> [PropertyIndex] {
        var indexes: [PropertyIndex] = []
        for row in result.rows {
            indexes.append(
                PropertyIndex(
                    name: try row.decode(0, as: String.self),
                    schema: try row.decode(1, as: String.self),
                    column: try row.decode(2, as: String?.self),
                    isOfText: try row.decode(3, as: Bool.self),
                    isValid: try row.decode(4, as: Bool.self)
                )
            )
        }
        return indexes
    }
}

/// From the indexes that there are to those that are declared.
struct IndexPlan: Sendable {
    private(set) var superfluous: [PropertyIndex] = []
    private(set) var missing: [Property] = []

    var isEmpty: Bool { superfluous.isEmpty && missing.isEmpty }

    init(from indexes: [PropertyIndex], to properties: [Property]) {
        missing = properties
        for index in indexes {
            if let position = missing.firstIndex(where: index.serves) {
                missing.remove(at: position)
            } else {
                superfluous.append(index)
            }
        }
    }
}

extension Store {
    /// How far the indexes of an application's properties are.
    package func indexStates(of place: ApplicationPlace) async throws(Failure) -> [PropertyIndexState] {
        let declared = try await query(Self.indexedProperties(of: place))
        guard declared.count > 0 else { return [] }
        let indexes = try await query(UsersTable(of: place).indexQuestion, in: tables(of: place))
        return try read { () throws(PostgresError) in
            let indexes = try UsersTable.indexes(in: indexes)
            return try Self.properties(in: declared).map { property, problem in
                let isReady = indexes.contains { $0.serves(property) }
                return PropertyIndexState(
                    property: property.name,
                    isReady: isReady,
                    problem: isReady ? nil : problem
                )
            }
        }
    }

    /// Makes the indexes of an application's users those that are declared.
    ///
    /// They are built and dropped concurrently, outside of any transaction: that keeps no login waiting, and takes as
    /// long as it takes. One instance at a time does it, whatever the application, since all builds in a database wait
    /// for each other's snapshots. What a build has left that was cut off is dropped first.
    ///
    /// - Returns: What became of it.
    /// - Throws: `store_unavailable` and its like.
    package func reconcileIndexes(of place: ApplicationPlace) async throws(Failure) -> IndexReconciliation {
        let users = UsersTable(of: place)
        let (declared, indexes) = (
            try await query(Self.indexedProperties(of: place)),
            try await query(users.indexQuestion, in: tables(of: place))
        )
        let plan = try read { () throws(PostgresError) in
            IndexPlan(
                from: try UsersTable.indexes(in: indexes),
                to: try Self.properties(in: declared).map(\.property)
            )
        }
        guard !plan.isEmpty else { return .done(built: 0, dropped: 0) }
        do {
            return try await tables(of: place).withConnection { connection in
                let lock: Statement = "select pg_try_advisory_lock(hashtextextended('federation indexes', 0))"
                guard try await connection.query(lock).first?.decode(0, as: Bool.self) == true else {
                    return .elsewhere
                }
                // Builds wait for every transaction that is older than they are.
                try await connection.execute(script: "set statement_timeout = 0; set lock_timeout = 0")
                return try await reconcile(place, users, on: connection)
            }
        } catch let error as PostgresError {
            throw await failure(of: error, in: nil)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.internal, "The indexes could not be built.", cause: "\(error)")
        }
    }

    /// Carries the plan out that is right by now, under the lock.
    private func reconcile(
        _ place: ApplicationPlace,
        _ users: UsersTable,
        on connection: PostgresConnection
    ) async throws -> IndexReconciliation {
        let declared = try Self.properties(in: try await postgres.query(Self.indexedProperties(of: place)))
        let plan = IndexPlan(from: try await users.indexes(on: connection), to: declared.map(\.property))
        var hindrance: String?
        for index in plan.superfluous {
            do throws(PostgresError) {
                try await connection.execute(script: index.drop(concurrently: true))
            } catch { hindrance = "\(try Self.passing(error))" }
        }
        for property in plan.missing {
            var problem: String?
            do {
                let build = try await users.buildIndex(of: property, named: PropertyIndex.newName(), on: connection)
                try await connection.execute(script: build)
            } catch let error as PostgresError {
                problem = "\(try Self.passing(error))"
            } catch let failure as Failure {
                problem = failure.message
            }
            hindrance = problem ?? hindrance
            _ = try await postgres.query(
                """
                update federation.properties set index_problem = \(problem)
                where application_id = \(place.id.text) and name = \(property.name.text)
                    and index_problem is distinct from \(problem)
                """
            )
        }
        if let hindrance { return .hindered(cause: hindrance) }
        return .done(built: plan.missing.count, dropped: plan.superfluous.count)
    }

    /// An error after which the connection is of use.
    private static func passing(_ error: PostgresError) throws(PostgresError) -> PostgresError {
        guard case .server = error, error.handling != .dropConnection else { throw error }
        return error
    }

    private static func indexedProperties(of place: ApplicationPlace) -> Statement {
        """
        select name, type, index_problem from federation.properties
        where application_id = \(place.id.text) and indexed order by position, name
        """
    }

    private static func properties(
        in result: ResultSet
    ) throws(PostgresError) -> [(property: Property, problem: String?)] {
        var properties: [(property: Property, problem: String?)] = []
        for row in result.rows {
            guard let name = PropertyName(try row.decode(0, as: String.self)),
                let type = PropertyType(rawValue: try row.decode(1, as: String.self))
            else { continue }
            properties.append((Property(name: name, type: type, indexed: true), try row.decode(2, as: String?.self)))
        }
        return properties
    }
}
