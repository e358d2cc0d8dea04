import Identity
import Logging

extension Federation {
    /// Does something that makes or changes a user, and says in one log line how it went.
    func logging<Result>(
        _ event: String,
        of loaded: LoadedApplication,
        _ logger: Logger,
        with facts: Logger.Metadata = [:],
        user: (Result) -> ObjectID,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let started = ContinuousClock.now
        func metadata(_ outcome: String) -> Logger.Metadata {
            [
                "application": "\(loaded.application.id)", "outcome": "\(outcome)",
                "ms": "\(started.duration(to: .now) / .milliseconds(1))",
            ].merging(facts) { own, _ in own }
        }
        do throws(Failure) {
            let result = try await body()
            logger.info("\(event)", metadata: metadata("done").merging(["user": "\(user(result))"]) { _, new in new })
            return result
        } catch {
            let cause = error.cause.map { ["cause": "\($0)"] as Logger.Metadata } ?? [:]
            logger.notice("\(event)", metadata: metadata(error.reason.rawValue).merging(cause) { _, new in new })
            throw error.withoutCause
        }
    }
}
