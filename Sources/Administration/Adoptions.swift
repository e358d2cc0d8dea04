package import Store
package import Vocabulary

/// Tables that were there before an application and come to hold its users.
package struct AdoptionAdministration: Sendable {
    let store: Store
    let changes: ApplicationChanges

    /// What an adoption is going to do.
    package struct Plan: Sendable {
        package let table: String
        /// What an operator should know before.
        package let remarks: [String]
        package let steps: [AdoptionStep]

        /// The SQL, as `psql` runs it.
        package var script: String {
            let head = remarks.map { "-- \($0.onOneLine)\n" }.joined()
            return head + steps.map { "\n-- \($0.comment.onOneLine)\n\($0.sql);\n" }.joined()
        }
    }

    /// Reads the table and says what an adoption is going to do; nothing has changed then.
    ///
    /// - Throws: `document_invalid` with everything that is in the way, `conflict` when the application has users
    ///   already, `not_found` and its like.
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

    /// Does one step of a plan.
    ///
    /// - Throws: `conflict` with what went wrong; the steps before have been done and stay.
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
    /// As a comment of SQL holds it: a name that comes from the database may have line breaks.
    fileprivate var onOneLine: String { String(map { $0.isNewline ? " " : $0 }) }
}
