package import Vocabulary
package import Store

extension Administration {
    /// The application that an id from outside names.
    ///
    /// - Throws: `not_found`, with one text for ids that are unknown and those that cannot be one.
    func existing(_ id: String) async throws(Failure) -> StoredApplication {
        guard let id = ApplicationID(id), let stored = try await store.application(id) else {
            throw .noSuchApplication
        }
        return stored
    }

    /// Changes an application that is as the precondition says.
    ///
    /// The plan gets the application and the columns of its live users table. `DocumentProblems` that it throws are those of what
    /// was submitted.
    ///
    /// - Returns: The application as it is afterwards; nil when it was deleted.
    /// - Throws: `not_found`, `precondition_failed`, `document_invalid`, and what the plan throws.
    package func change(
        _ id: String,
        if precondition: Precondition,
        by actor: Actor,
        plan: @escaping @Sendable (StoredApplication, [LiveColumn]) throws -> [PlannedChange]
    ) async throws(Failure) -> StoredApplication? {
        guard let id = ApplicationID(id) else { throw .noSuchApplication }
        return try await changing {
            try await change(id, by: actor) { stored, columns in
                guard let stored else { throw Failure.noSuchApplication }
                try precondition.check(stored.tag)
                return try plan(stored, columns)
            }
        }
    }

    /// Changes a part of an application: the closure edits what it shall be, and gets what it is.
    ///
    /// The part is where in an application document that stands which was submitted. Gives the application as it is afterwards.
    func edit(
        _ id: String,
        part: JSONPointer = JSONPointer(),
        if precondition: Precondition,
        by actor: Actor,
        _ edit: @escaping @Sendable (inout DesiredApplication, StoredApplication) throws -> Void
    ) async throws(Failure) -> StoredApplication {
        let changed = try await change(id, if: precondition, by: actor) { stored, _ in
            var desired = DesiredApplication(stored, kinds: kinds)
            try edit(&desired, stored)
            // Without the live table: a column that somebody changed by hand must not keep a key from being revoked.
            return try desired.steps(from: stored, columns: [], part: part)
        }
        guard let changed else { throw .noSuchApplication }
        return changed
    }
}

extension DesiredApplication {
    /// The steps that make the application so, or everything that is wrong by its place in what was submitted.
    ///
    /// The part is where in an application document that stands which was submitted, the place where in what was submitted.
    package func steps(
        from stored: StoredApplication?,
        columns: [LiveColumn],
        part: JSONPointer = JSONPointer(),
        at place: JSONPointer = JSONPointer()
    ) throws(DocumentProblems) -> [PlannedChange] {
        do throws(DocumentProblems) {
            return try ConfigurationDifference.changes(from: stored, to: self, columns: columns)
        } catch {
            throw error.moved(from: part, to: place)
        }
    }
}

extension StoredApplication {
    /// The entity tag of everything that belongs to the application.
    package var tag: String { String(revision) }

    /// A part of the application.
    package func resource(_ body: JSONValue) -> Resource { Resource(body, tag: tag) }

    /// All of a kind that belong to the application; there are few, so there is one page.
    package func list(_ items: [JSONValue]) -> Resource { resource(Page(items: items, next: nil).json) }
}

extension Failure {
    static let noSuchApplication = Failure(.notFound, "There is no such application.")

    /// Something that cannot be undone was asked for without repeating a word.
    ///
    /// The loss begins a sentence: `Deleting an application deletes its users`.
    package static func unconfirmed(_ loss: String, repeating word: String) -> Failure {
        Failure(.malformedRequest, "\(loss) and cannot be undone. Confirm it by repeating the name: ?confirm=\(word)")
    }
}
