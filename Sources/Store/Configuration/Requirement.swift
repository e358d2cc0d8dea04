import Domain
import Encodings
import Postgres

/// A column that must be validated as free of NULL before it can become NOT NULL.
///
/// `SET NOT NULL` alone reads the whole table while logins wait. With a validated CHECK constraint it need not read the
/// table, and the validation lets logins proceed. So the constraint is added and validated before the transaction of
/// the change. That transaction drops the constraint. If the change fails, the constraint is dropped, too.
///
/// A step that finds no such constraint throws this error, and `Store.change` catches it. If the process is killed in
/// between, the constraint stays, and refuses NULL as the change would have. The next change of the property drops it.
struct Requirement: Error, Hashable {
    let users: UsersTable
    /// The number of the column.
    ///
    /// Its name may have changed in the transaction of the step.
    let column: Int64
    let property: PropertyName

    static let constraintPrefix = "federation_required_"

    static func constraint(of column: Int64) -> String { constraintPrefix + String(column) }

    var constraint: String { Self.constraint(of: column) }
}

extension Store {
    /// Adds a constraint that forbids NULL in a column of the users table, and checks all existing rows.
    ///
    /// - Throws: `constraint_violation` if a user has no value.
    func validate(_ requirement: Requirement) async throws {
        let table = requirement.users.table
        let constraint = requirement.constraint
        try await withShortLocks(in: tables(of: requirement.users.place)) { connection in
            let name = try await connection.query(
                """
                select attname::text from pg_attribute
                where attrelid = \(table)::regclass and attnum = \(requirement.column) and not attisdropped
                """
            )
            guard let column = try name.first(String.self) else {
                throw ChangeTransaction.columnMissing(requirement.property)
            }
            // One command at a time, since Citus accepts no scripts here.
            let check = "check (\(quoted(column)) is not null) not valid"
            try await connection.execute(script: "alter table \(table) drop constraint if exists \(constraint)")
            try await connection.execute(script: "alter table \(table) add constraint \(constraint) \(check)")
        }
        do {
            try await tables(of: requirement.users.place).withConnection { connection in
                try await connection.execute(
                    script: "begin; set local statement_timeout = '10min'; set local lock_timeout = '1min'"
                )
                try await connection.execute(script: "alter table \(table) validate constraint \(constraint)")
                try await connection.execute(script: "commit")
            }
        } catch let error as PostgresError {
            switch error.sqlState {
            case "23514":
                throw Failure(
                    .constraintViolation,
                    "\(requirement.property) cannot be required: some users have no value. Give them one first.",
                    details: ["property": .string(requirement.property.text)],
                    cause: "\(error)"
                )
            case "57014", "55P03":
                throw Failure(
                    .conflict,
                    """
                    The check whether every user has a value of \(requirement.property) took too long. Nothing was \
                    changed. Try again when no backup or vacuum of the users table runs.
                    """,
                    details: ["property": .string(requirement.property.text)],
                    cause: "\(error)"
                )
            default: throw error
            }
        }
    }

    /// Drops the constraints that a failed change has left.
    func withdraw(_ requirements: [Requirement]) async {
        guard !requirements.isEmpty else { return }
        // In a separate task, since a cancelled task cannot run statements.
        await Task {
            for requirement in requirements {
                let script = """
                    alter table \(requirement.users.table) drop constraint if exists \(requirement.constraint)
                    """
                try? await withShortLocks(in: tables(of: requirement.users.place)) { connection in
                    try await connection.execute(script: script)
                }
            }
        }.value
    }
}
