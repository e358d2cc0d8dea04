import Description
package import Domain
package import Store

/// Adoptions of existing tables as users tables of applications.
package struct AdoptionAdministration: Sendable {
    let store: Store
    let changes: ApplicationChanges

    /// The steps of an adoption, before any is done.
    package struct Plan: Sendable {
        package let table: String
        /// Notes for the operator to read before the adoption.
        package let remarks: [String]
        package let steps: [AdoptionStep]

        /// The plan as an SQL script for `psql`.
        package var script: String {
            let head = remarks.map { "-- \($0.onOneLine)\n" }.joined()
            return head + steps.map { "\n-- \($0.comment.onOneLine)\n\($0.sql);\n" }.joined()
        }
    }

    /// Reads the table and plans the adoption, without changing anything.
    ///
    /// - Throws: `document_invalid` with all problems, `conflict` when the application has users already, `not_found`
    ///   and similar errors.
    package func plan(
        _ request: AdoptionRequest,
        for application: String,
        by actor: Actor
    ) async throws(Failure) -> Plan {
        let stored = try await changes.existing(application)
        guard stored.database == nil else {
            throw Failure(
                .conflict,
                "\(stored.id) has a database of its own; tables are adopted in the main database alone."
            )
        }
        guard try await !store.isSharded(stored) else {
            throw Failure(
                .conflict,
                """
                Citus has the tables of \(stored.id), and no table that was there before can be among them: \
                docs/citus.md.
                """
            )
        }
        if let adopted = try await store.adoptedTable(of: stored) {
            throw Failure(.conflict, "The users of \(stored.id) are in the table \(adopted) already.")
        }
        guard try await !store.hasUsers(stored) else {
            throw Failure(
                .conflict,
                "\(stored.id) has users already. Adopt the table by an application that has none."
            )
        }
        guard let table = try await store.existingTable(request.table) else {
            throw Failure(.notFound, "There is no table \(request.table).")
        }
        if let begun = try await store.begunAdoption(of: stored), table.application != stored.id.text {
            throw Failure(
                .conflict,
                """
                \(stored.id) has begun to adopt \(begun). Finish that, or give it up: drop the columns that it has added, and \
                delete from federation.adopted_tables where application_id = '\(stored.id)'.
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
    /// - Throws: `conflict` with the reason; the previous steps stay done.
    package func perform(_ step: AdoptionStep) async throws(Failure) {
        try await changing { try await store.perform(step) }
    }

    private func remarks(on adoption: Adoption) async throws(Failure) -> [String] {
        let table = adoption.table
        var remarks = [
            """
            \(adoption.application.id) gets its users from \(table.sql). Whoever erases a user deletes the row of the table.
            """
        ]
        if adoption.identities == nil {
            remarks.append(
                "Nobody in it has a login yet: who logs in by a provider becomes a new row. See docs/migrating/existing-table.md."
            )
        }
        let shown = Set(adoption.columns.map(\.column))
        let hidden = table.columns.map(\.name).filter { !shown.contains($0) }
        if !hidden.isEmpty { remarks.append("Clients never see: \(hidden.joined(separator: ", ")).") }
        if let email = adoption.columns.first(where: { $0.name == "email" && $0.definition == nil }) {
            let found = try await store.doubtfulAddresses(in: email.column, of: table)
            if found.malformed > 0 {
                remarks.append("\(found.malformed) values of \(email.column) are no e-mail address; they stay.")
            }
            if found.repeated > 0 {
                remarks.append("\(found.repeated) values of \(email.column) are another row's address, too; they stay.")
            }
        }
        if !table.referringTables.isEmpty {
            let names = table.referringTables.joined(separator: ", ")
            remarks.append("Rows that refer to a user keep it from being erased: \(names).")
        }
        return remarks
    }
}

extension String {
    /// The text on one line, for an SQL comment: a name from the database may contain line breaks.
    fileprivate var onOneLine: String { String(map { $0.isNewline ? " " : $0 }) }
}
