package import Domain
package import Logging
package import Mapping
package import Secrets

/// Writes the log lines of use cases that create or change a user.
package struct EventLog: Sendable {
    package let pseudonyms: Pseudonyms

    package init(pseudonyms: Pseudonyms) {
        self.pseudonyms = pseudonyms
    }

    /// Runs a use case that creates or changes a user, and logs its outcome in one line.
    ///
    /// - Parameters:
    ///   - event: The message of the log line.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    ///   - facts: Further members of the log line.
    ///   - login: The login name that the user has or wants. A line about a failure contains its pseudonym.
    ///   - omissions: Returns the parts of a provider's profile that were not written to properties.
    ///   - user: Returns the user of the result.
    ///   - body: The use case.
    /// - Returns: The result of `body`.
    /// - Throws: The failure of `body`, marked as logged.
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
    /// The omitted properties and reasons for a log line; empty when nothing was omitted.
    package var facts: Logger.Metadata { isEmpty ? [:] : ["leftOut": "\(map(\.text).joined(separator: ", "))"] }
}
