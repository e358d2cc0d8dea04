import Identity

extension Administration {
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
