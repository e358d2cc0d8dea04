package import Domain
import Encodings
import Postgres

/// The state of a property's index, as operators see it.
package struct PropertyIndexState: Sendable {
    package let property: PropertyName
    /// Whether the index exists and is valid.
    ///
    /// If not, it is being built, or will be.
    package let isReady: Bool
    /// Why the last attempt to build the index failed; nil if the index is ready or no attempt failed.
    package let problem: String?
}

/// The result of an attempt to build the declared indexes and to drop all others.
package enum IndexReconciliation: Sendable, Equatable {
    /// All declared indexes exist, and no others.
    ///
    /// The numbers count the indexes that were built and dropped.
    case done(built: Int, dropped: Int)
    /// An obstacle prevented a build or a drop.
    ///
    /// A property whose index could not be built records the obstacle.
    case blocked(cause: String)
    /// Nothing was done, since another instance is building indexes.
    case elsewhere
}

/// An index that the service made on a property's column.
///
/// Every other index of the table is left alone.
struct PropertyIndex: Sendable {
    let name: String
    /// The schema of the table that has the index.
    ///
    /// An adopted table is not in the application's schema.
    let schema: String
    /// The name of the column in statements; nil if the view of an adopted table does not show the column.
    let column: String?
    let form: Form
    /// Whether the index is valid; an invalid one is left by an interrupted build.
    let isValid: Bool

    enum Form {
        case value
        /// An index of the beginning of a text: see `UserColumn.key`.
        case text
        /// An index of all trigrams of a text, ignoring case (pg_trgm).
        case parts

        /// The beginning of the names of indexes of this form.
        ///
        /// Older versions of the service do not know trigram indexes. A separate prefix keeps these versions from
        /// dropping them.
        fileprivate var prefix: String { self == .parts ? "federation_parts_" : "federation_indexed_" }
    }

    /// Returns a random index name.
    ///
    /// The name is not derived from the property's name, since a property may take the name of another whose index
    /// still exists.
    static func newName(_ form: Form) -> String {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        return form.prefix + String(repeating: "0", count: 16 - number.utf8.count) + number
    }

    /// Reads an index from a row of `UsersTable.indexQuestion`.
    init(_ row: inout Row) throws(PostgresError) {
        name = try row.next()
        schema = try row.next()
        column = try row.next()
        let (isOfParts, isOfText) = (try row.next(Bool.self), try row.next(Bool.self))
        form = isOfParts ? .parts : isOfText ? .text : .value
        isValid = try row.next()
    }

    func serves(_ property: Property, as form: Form) -> Bool {
        isValid && column?.hasSameBytes(as: property.name.text) == true && self.form == form
    }

    func drop(concurrently: Bool = false) -> String {
        "drop index \(concurrently ? "concurrently " : "")if exists \(quoted(schema)).\(quoted(name))"
    }
}

extension Property {
    /// Returns the forms of the property's indexes.
    ///
    /// The property `name` has a trigram index, too, if the server has pg_trgm.
    fileprivate func indexForms(withParts: Bool) -> [PropertyIndex.Form] {
        [type.isText ? .text : .value] + (withParts && name == .name ? [.parts] : [])
    }

    /// Returns the key of a column for `create index`: an expression in parentheses, followed by the collation.
    fileprivate func indexKey(of column: String) -> String {
        let column = quoted(column)
        return type.isText ? #"(left(\#(column), \#(PropertyType.keyCharacters))) collate "C""# : column
    }
}

extension UsersTable {
    /// Returns the statement that builds an index of a property.
    ///
    /// An index of a whole value or of the beginning of a text serves comparisons, `in`, ranges, prefixes, and sorting.
    /// Its last column is the user's id, since a search orders users by the property and then by the id. An index of
    /// trigrams (`parts`) serves `ilike '%…%'`.
    ///
    /// - Throws: `conflict` if the table has no such column; PostgreSQL's error if pg_trgm cannot be installed.
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
        guard let (column, id, table) = try result.first(String.self, String.self, String.self) else {
            throw ChangeTransaction.columnMissing(property.name)
        }
        guard missing.form == .parts else {
            return """
                create index concurrently \(name) on \(table)
                (\(property.indexKey(of: column)) nulls first, \(quoted(id)))
                """
        }
        try await connection.execute(script: "create extension if not exists pg_trgm with schema federation")
        // pg_trgm may be installed in another schema.
        let schema = try await connection.query(
            "select extnamespace::regnamespace::text from pg_extension where extname = 'pg_trgm'"
        )
        let classes = try schema.first(String.self) ?? "federation"
        return "create index concurrently \(name) on \(table) using gin (\(quoted(column)) \(classes).gin_trgm_ops)"
    }

    /// The query that tells whether the server has the extension pg_trgm, for indexes of parts of a text.
    static let partsQuestion: Statement = "select exists (select from pg_available_extensions where name = 'pg_trgm')"

    func indexes(on connection: PostgresConnection) async throws(PostgresError) -> [PropertyIndex] {
        try await connection.query(indexQuestion).all(by: PropertyIndex.init)
    }

    /// The query for the indexes of properties; no rows if the table does not exist.
    var indexQuestion: Statement {
        """
        select x.relname::text, n.nspname::text, c.name, starts_with(x.relname, \(PropertyIndex.Form.parts.prefix)),
            i.indkey[0] = 0, i.indisvalid
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
}

/// The difference between the existing and the declared indexes.
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
    /// Returns the states of the indexes of an application's properties.
    package func indexStates(of place: ApplicationPlace) async throws(Failure) -> [PropertyIndexState] {
        let declared = try await query(Self.indexedProperties(of: place))
        guard declared.count > 0 else { return [] }
        let indexes = try await query(UsersTable(of: place).indexQuestion, in: tables(of: place))
            .all(by: PropertyIndex.init)
        let withParts = try await query(UsersTable.partsQuestion, in: tables(of: place)).first(Bool.self) == true
        return try declared.all(by: Self.indexedProperty).map { property, problem in
            let isReady = property.indexForms(withParts: withParts)
                .allSatisfy { form in indexes.contains { $0.serves(property, as: form) } }
            return PropertyIndexState(property: property.name, isReady: isReady, problem: isReady ? nil : problem)
        }
    }

    /// Builds declared indexes that an application's users table lacks, and drops those that no property declares any
    /// more.
    ///
    /// Indexes are built and dropped concurrently, outside of any transaction. No login waits, and the time is
    /// unlimited. Only one instance at a time does this, for whichever application, since all builds in a database wait
    /// for each other's snapshots. Remains of an interrupted build are dropped first.
    ///
    /// - Throws: `store_unavailable` and similar failures.
    package func reconcileIndexes(of place: ApplicationPlace) async throws(Failure) -> IndexReconciliation {
        let users = UsersTable(of: place)
        let declared = try await query(Self.indexedProperties(of: place)).all(by: Self.indexedProperty)
        let plan = IndexPlan(
            from: try await query(users.indexQuestion, in: tables(of: place)).all(by: PropertyIndex.init),
            to: declared.map(\.property),
            withParts: try await query(UsersTable.partsQuestion, in: tables(of: place)).first(Bool.self) == true
        )
        guard !plan.isEmpty else { return .done(built: 0, dropped: 0) }
        return try await translating {
            try await tables(of: place).withConnection { connection in
                let lock: Statement = "select pg_try_advisory_lock(hashtextextended('federation indexes', 0))"
                guard try await connection.query(lock).first(Bool.self) == true else {
                    return .elsewhere
                }
                // Builds wait for every older transaction.
                try await connection.execute(script: "set statement_timeout = 0; set lock_timeout = 0")
                return try await reconcile(place, users, on: connection)
            }
        }
    }

    /// Builds the missing indexes and drops the superfluous ones, on a connection that holds the lock for this work.
    ///
    /// The indexes are compared again, since another instance may have changed them before the lock was acquired.
    private func reconcile(
        _ place: ApplicationPlace,
        _ users: UsersTable,
        on connection: PostgresConnection
    ) async throws -> IndexReconciliation {
        let declared = try await postgres.query(Self.indexedProperties(of: place)).all(by: Self.indexedProperty)
        let plan = IndexPlan(
            from: try await users.indexes(on: connection),
            to: declared.map(\.property),
            withParts: try await connection.query(UsersTable.partsQuestion).first(Bool.self) == true
        )
        var obstacle: String?
        for index in plan.superfluous {
            do throws(PostgresError) {
                try await connection.execute(script: index.drop(concurrently: true))
            } catch { obstacle = "\(try Self.passing(error))" }
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
            obstacle = problem ?? obstacle
            _ = try await postgres.query(
                """
                update federation.properties set index_problem = \(problem)
                where application_id = \(place.id.text) and name = \(name.text)
                    and index_problem is distinct from \(problem)
                """
            )
        }
        if let obstacle { return .blocked(cause: obstacle) }
        return .done(built: plan.missing.count, dropped: plan.superfluous.count)
    }

    /// Returns an error after which the connection is still usable, and throws any other error.
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

    /// Reads a row of `indexedProperties`; nil if the property's name or type is malformed.
    private static func indexedProperty(
        _ row: inout Row
    ) throws(PostgresError) -> (property: Property, problem: String?)? {
        let (name, type) = (PropertyName(try row.next(String.self)), PropertyType(rawValue: try row.next(String.self)))
        let problem = try row.next(String?.self)
        guard let name, let type else { return nil }
        return (Property(name: name, type: type, indexed: true), problem)
    }
}
