import Applications
package import Vocabulary
package import Store

extension Administration {
    /// Changes an application, as `Store.change` does, and has the change count in this process before anybody is told of it.
    package func change(
        _ id: ApplicationID,
        by actor: Actor,
        plan: @escaping @Sendable (StoredApplication?, [LiveColumn]) throws -> [PlannedChange]
    ) async throws -> StoredApplication? {
        let changed = try await store.change(id, by: actor, plan: plan)
        await directory?.follow(changeOf: id)
        return changed
    }

    /// Runs a change of the store, whose plan may throw anything, as one that fails in our words.
    func changing<Result>(_ change: () async throws -> Result) async throws(Failure) -> Result {
        do {
            return try await change()
        } catch let failure as Failure {
            throw failure
        } catch let problems as DocumentProblems {
            throw problems.failure
        } catch {
            throw Failure(.internal, "The change could not be made.", cause: "\(error)")
        }
    }
}

extension Failure {
    /// A cursor is handed back as it was received.
    static let badCursor = Failure(.malformedRequest, "cursor must be what next was on the page before.")
}
