package import Logging
package import Mapping
package import Secrets
package import Vocabulary

/// What the log says of use cases that make or change a user.
package struct EventLog: Sendable {
    package let pseudonyms: Pseudonyms

    package init(pseudonyms: Pseudonyms) {
        self.pseudonyms = pseudonyms
    }

    /// Does something that makes or changes a user, and says in one log line how it went.
    ///
    /// - Parameters:
    ///   - event: The message.
    ///   - loaded: The application.
    ///   - logger: Of the request.
    ///   - facts: Further members of the line.
    ///   - login: By what the person is, or wants to be, known; the line has its pseudonym when it did not go.
    ///   - omissions: What properties did not get of a profile.
    ///   - user: Whom the result is about.
    ///   - body: What is done.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, as logged.
    package func logging<Result>(
        _ event: String,
        of loaded: LoadedApplication,
        _ logger: Logger,
        with facts: Logger.Metadata = [:],
        login: String? = nil,
        omissions: (Result) -> [Omission] = { _ in [] },
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
            var metadata = metadata("done").merging(omissions(result).facts) { own, _ in own }
            metadata["user"] = "\(user(result))"
            logger.info("\(event)", metadata: metadata)
            return result
        } catch {
            var metadata = metadata(error.reason.rawValue)
            if let cause = error.cause { metadata["cause"] = "\(cause)" }
            if let login {
                metadata["login"] = "\(pseudonyms.pseudonym(ofLogin: login, in: loaded.application.id))"
            }
            logger.log(level: error.isOwnFault ? .error : .notice, "\(event)", metadata: metadata)
            throw error.logged
        }
    }
}

extension [Omission] {
    /// Properties and reasons for a line of the log; nothing when all fits.
    package var facts: Logger.Metadata { isEmpty ? [:] : ["leftOut": "\(map(\.text).joined(separator: ", "))"] }
}
