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
    let form: Form
    /// One that is not is what a build has left that was cut off.
    let isValid: Bool

    enum Form {
        case value
        /// The beginning of a text: see `UserColumn.key`.
        case text
        /// Every three characters of a text that follow one another, in whatever case (pg_trgm).
        case parts

        /// Those of parts have their own, by which versions that know none of them leave them alone.
        fileprivate var prefix: String { self == .parts ? "federation_parts_" : "federation_indexed_" }
    }

    /// A name that no other index has had: a property may take the name of another whose index is there still.
    static func newName(_ form: Form) -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return form.prefix + String(repeating: "0", count: 16 - number.utf8.count) + number
    }

    func serves(_ property: Property, as form: Form) -> Bool {
        isValid && column?.hasSameBytes(as: property.name.text) == true && self.form == form
    }

    func drop(concurrently: Bool = false) -> String {
        "drop index \(concurrently ? "concurrently " : "")if exists \(quoted(schema)).\(quoted(name))"
    }
}

extension Property {
    /// The indexes that it has when it is indexed: `name` is searched by parts, where the server offers that.
    fileprivate func indexForms(withParts: Bool) -> [PropertyIndex.Form] {
        [type.isText ? .text : .value] + (withParts && name == .name ? [.parts] : [])
    }

    /// The key of a column as `create index` takes it: an expression in parentheses, the collation behind them.
    fileprivate func indexKey(of column: String) -> String {
        let column = quoted(column)
        return type.isText ? #"(left(\#(column), \#(PropertyType.keyCharacters))) collate "C""# : column
    }
}

extension UsersTable {
    /// The statement that builds an index of a property.
    ///
    /// One of values or of texts serves comparisons, `in`, ranges, the beginning of a text and the order by it, with the
    /// id behind it as in the order of a search; one of parts serves `ilike '%…%'`.
    ///
    /// - Throws: `conflict` when the table has no such column; what stands in the way of pg_trgm.
    func indexText(_ missing: IndexPlan.Missing, on connection: PostgresConnection) async throws -> String {
        let (property, name) = (missing.property, quoted(PropertyIndex.newName(missing.form)))
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
        let (column, table) = (try row.decode(0, as: String.self), try row.decode(2, as: String.self))
        guard missing.form == .parts else {
            return """
                create index concurrently \(name) on \(table)
                (\(property.indexKey(of: column)) nulls first, \(quoted(try row.decode(1, as: String.self))))
                """
        }
        try await connection.execute(script: "create extension if not exists pg_trgm with schema federation")
        // Somebody may have it elsewhere.
        let schema = try await connection.query(
            "select extnamespace::regnamespace::text from pg_extension where extname = 'pg_trgm'"
        )
        let classes = try schema.first?.decode(0, as: String.self) ?? "federation"
        return "create index concurrently \(name) on \(table) using gin (\(quoted(column)) \(classes).gin_trgm_ops)"
    }

    /// Whether the server has pg_trgm.
    static let partsQuestion: Statement = "select exists (select from pg_available_extensions where name = 'pg_trgm')"

    static func offersParts(_ result: ResultSet) throws(PostgresError) -> Bool {
        try result.first?.decode(0, as: Bool.self) == true
    }

    /// The indexes of properties.
    func indexes(on connection: PostgresConnection) async throws(PostgresError) -> [PropertyIndex] {
        try Self.indexes(in: try await connection.query(indexQuestion))
    }

    /// The question for the indexes of properties; none where there is no such table.
    var indexQuestion: Statement {
        """
        select x.relname::text, n.nspname::text, c.name, i.indkey[0] = 0, i.indisvalid,
            starts_with(x.relname, \(PropertyIndex.Form.parts.prefix))
        from pg_index i join pg_class x on x.oid = i.indexrelid join pg_namespace n on n.oid = x.relnamespace
        left join federation.user_columns(\(schema)) c on c.number = case
            when i.indkey[0] <> 0 then i.indkey[0]
            else (select min(d.refobjsubid) from pg_depend d
                where d.classid = 'pg_class'::regclass and d.objid = i.indexrelid
                    and d.refclassid = 'pg_class'::regclass and d.refobjid = i.indrelid
                    and d.refobjsubid > 0 and d.refobjsubid <> all (i.indkey))
            end
        where i.indrelid = federation.users_table(\(schema)) and (
            starts_with(x.relname, \(PropertyIndex.Form.text.prefix))
            or starts_with(x.relname, \(PropertyIndex.Form.parts.prefix))
        )
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
                    form: try row.decode(5, as: Bool.self)
                        ? .parts : try row.decode(3, as: Bool.self) ? .text : .value,
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
    private(set) var missing: [Missing] = []

    struct Missing {
        let property: Property
        let form: PropertyIndex.Form
    }

    var isEmpty: Bool { superfluous.isEmpty && missing.isEmpty }

    init(from indexes: [PropertyIndex], to properties: [Property], withParts: Bool) {
        missing = properties.flatMap { property in
            property.indexForms(withParts: withParts).map { Missing(property: property, form: $0) }
        }
        for index in indexes {
            if let position = missing.firstIndex(where: { index.serves($0.property, as: $0.form) }) {
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
        let parts = try await query(UsersTable.partsQuestion, in: tables(of: place))
        return try read { () throws(PostgresError) in
            let (indexes, withParts) = (try UsersTable.indexes(in: indexes), try UsersTable.offersParts(parts))
            return try Self.properties(in: declared).map { property, problem in
                let isReady = property.indexForms(withParts: withParts)
                    .allSatisfy { form in indexes.contains { $0.serves(property, as: form) } }
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
        let (declared, indexes, parts) = (
            try await query(Self.indexedProperties(of: place)),
            try await query(users.indexQuestion, in: tables(of: place)),
            try await query(UsersTable.partsQuestion, in: tables(of: place))
        )
        let plan = try read { () throws(PostgresError) in
            IndexPlan(
                from: try UsersTable.indexes(in: indexes),
                to: try Self.properties(in: declared).map(\.property),
                withParts: try UsersTable.offersParts(parts)
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
        let plan = IndexPlan(
            from: try await users.indexes(on: connection),
            to: declared.map(\.property),
            withParts: try UsersTable.offersParts(try await connection.query(UsersTable.partsQuestion))
        )
        var hindrance: String?
        for index in plan.superfluous {
            do throws(PostgresError) {
                try await connection.execute(script: index.drop(concurrently: true))
            } catch { hindrance = "\(try Self.passing(error))" }
        }
        var problems: [PropertyName: String] = [:]
        for missing in plan.missing {
            do {
                try await connection.execute(script: try await users.indexText(missing, on: connection))
            } catch let error as PostgresError {
                problems[missing.property.name] = "\(try Self.passing(error))"
            } catch let failure as Failure {
                problems[missing.property.name] = failure.message
            }
        }
        for name in Set(plan.missing.map(\.property.name)) {
            let problem = problems[name]
            hindrance = problem ?? hindrance
            _ = try await postgres.query(
                """
                update federation.properties set index_problem = \(problem)
                where application_id = \(place.id.text) and name = \(name.text)
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
