import Postgres
import Vocabulary

/// A column that has to be validated, as free of NULL, before it can be made NOT NULL.
///
/// `SET NOT NULL` alone reads the whole table while logins wait. A CHECK constraint that has been validated saves it
/// the reading, and validating one lets logins go on. So that is done before the transaction of the change, which
/// drops the constraint; when the change fails the constraint is dropped, too.
///
/// Thrown by a step that finds no such constraint, caught by `Store.change`. One that is left behind, because the
/// process was killed in between, refuses NULL as the change would have; the next change of the property removes it.
struct Requirement: Error, Hashable {
    let users: UsersTable
    /// The column's number: the step's transaction may have renamed it.
    let column: Int64
    let property: PropertyName

    static let constraintPrefix = "federation_required_"

    static func constraint(of column: Int64) -> String { constraintPrefix + String(column) }

    var constraint: String { Self.constraint(of: column) }
}

extension Store {
    /// Makes sure that no user lacks a value, neither any that there is nor any to come.
    ///
    /// - Throws: `constraint_violation` when some do.
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
            guard let column = try name.first?.decode(0, as: String.self) else {
                throw ChangeTransaction.columnMissing(requirement.property)
            }
            // One command at a time, since Citus takes no others.
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
                    It took too long to see whether every user has a value of \(requirement.property). Nothing has changed. \
                    Try again when no backup or vacuum of the users table runs.
                    """,
                    details: ["property": .string(requirement.property.text)],
                    cause: "\(error)"
                )
            default: throw error
            }
        }
    }

    /// Drops the constraints that a change has left.
    func withdraw(_ requirements: [Requirement]) async {
        guard !requirements.isEmpty else { return }
        // In a task of its own, since a cancelled one gets nothing done any more.
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
