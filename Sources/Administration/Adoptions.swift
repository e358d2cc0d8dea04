import Description
package import Domain
package import Store

/// Plans and executes the adoption of existing tables.
///
/// An adopted table becomes the users table of an application.
package struct AdoptionAdministration: Sendable {
    let store: Store
    let changes: ApplicationChanges

    /// The steps of an adoption, planned before the first one is done.
    package struct Plan: Sendable {
        package let table: String
        /// Notes that the operator should read before the adoption.
        package let remarks: [String]
        package let steps: [AdoptionStep]

        /// The plan as an SQL script for `psql`.
        package var script: String {
            let head = remarks.map { "-- \($0.onOneLine)\n" }.joined()
            return head + steps.map { "\n-- \($0.comment.onOneLine)\n\($0.sql);\n" }.joined()
        }
    }

    /// Reads the table and plans the adoption, without a change.
    ///
    /// - Throws: `document_invalid` with all problems; `conflict` when the application already has users; `not_found`
    ///   and similar errors.
    package func plan(
        _ request: AdoptionRequest,
        for application: String,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Plan {
        let stored = try await changes.existing(application)
        guard stored.database == nil else {
            throw Failure(
                .conflict,
                "\(stored.id) has its own database. Tables can only be adopted in the main database."
            )
        }
        guard try await !store.isSharded(stored) else {
            throw Failure(
                .conflict,
                "The tables of \(stored.id) are distributed by Citus, where no table can be adopted. See docs/citus.md."
            )
        }
        if let adopted = try await store.adoptedTable(of: stored) {
            throw Failure(.conflict, "The users of \(stored.id) are already in the table \(adopted).")
        }
        guard try await !store.hasUsers(stored) else {
            throw Failure(
                .conflict,
                "\(stored.id) already has users. Adopt the table with an application that has none."
            )
        }
        guard let table = try await store.existingTable(request.table) else {
            throw Failure(.notFound, "The table \(request.table) does not exist.")
        }
        if let begun = try await store.begunAdoption(of: stored), table.application != stored.id.text {
            throw Failure(
                .conflict,
                """
                \(stored.id) has begun to adopt \(begun). Finish the adoption. Or cancel it: drop the columns that it \
                has added, and delete from federation.adopted_tables where application_id = '\(stored.id)'.
                """
            )
        }
        var reader = AdoptionReader(request: request, application: stored, table: table)
        let adoption: Adoption
        do throws(DocumentProblems) { adoption = try reader.read() } catch { throw error.failure }
        return Plan(
            table: table.sql,
            remarks: try await remarks(on: adoption),
            steps: try await store.steps(of: adoption, by: actor)
        )
    }

    /// Executes one step of a plan.
    ///
    /// - Throws: `conflict` with the reason. The previous steps stay done.
    package func perform(_ step: AdoptionStep) async throws(Failure) {
        try await changing { try await store.perform(step) }
    }

    private func remarks(on adoption: Adoption) async throws(Failure) -> [String] {
        let table = adoption.table
        var remarks = [
            "\(adoption.application.id) gets its users from \(table.sql). Erasing a user deletes the row of the table."
        ]
        if adoption.identities == nil {
            remarks.append(
                """
                No user in it has a login method yet: a login with a provider creates a new row. See \
                docs/migrating/existing-table.md.
                """
            )
        }
        let shown = Set(adoption.columns.map(\.column))
        let hidden = table.columns.map(\.name).filter { !shown.contains($0) }
        if !hidden.isEmpty { remarks.append("Hidden from clients: \(hidden.joined(separator: ", ")).") }
        if let email = adoption.columns.first(where: { $0.name == "email" && $0.definition == nil }) {
            let found = try await store.doubtfulAddresses(in: email.column, of: table)
            if found.malformed > 0 {
                remarks.append("\(found.malformed) values of \(email.column) are not e-mail addresses; they are kept.")
            }
            if found.repeated > 0 {
                remarks.append("\(found.repeated) values of \(email.column) are repeated addresses; they are kept.")
            }
        }
        if !table.referringTables.isEmpty {
            let names = table.referringTables.joined(separator: ", ")
            remarks.append("These references to users block the erasure of a user: \(names).")
        }
        return remarks
    }
}

extension String {
    /// The text on one line, for an SQL comment.
    ///
    /// A name from the database may contain line breaks.
    fileprivate var onOneLine: String { String(map { $0.isNewline ? " " : $0 }) }
}
