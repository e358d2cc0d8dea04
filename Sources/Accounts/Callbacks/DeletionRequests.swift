package import Applications
package import Domain
package import Encodings
package import Logging
import Providers
import Secrets
import Store

/// The status of a deletion request.
package struct DeletionStatus: Sendable {
    package enum State: Sendable {
        /// The data was deleted at this time, in milliseconds since 1970 UTC.
        case done(Int64)
        /// The data will be deleted at this time, in milliseconds since 1970 UTC.
        case waiting(until: Int64)
        /// The deletion is due, but not done: it has not run yet, or an error prevented it.
        case inProgress
    }

    /// The application's display name.
    package let application: String
    /// The display name of the provider that sent the request.
    package let provider: String
    /// The time at which the request was received, in milliseconds since 1970 UTC.
    package let received: Int64
    package let state: State
}

/// Handles the callbacks by which providers request the deletion of a user's data, and returns the status of each
/// request.
package struct DeletionRequests: Sendable {
    let store: Store
    let erasures: Erasures
    let clock: WallClock
    let random: RandomSource

    /// Handles a callback of a provider: a user has requested there that the app deletes the user's data.
    ///
    /// Stores one deletion request for each provider of the application that has the app. Then erases the data, unless
    /// the provider's options delay the erasure. If an erasure fails, the request stays open and is retried, and the
    /// provider still gets its receipt. A repeated callback gets the same receipt, and erases nothing twice.
    ///
    /// - Parameters:
    ///   - form: The form as received.
    ///   - provider: The provider that calls.
    ///   - loaded: The application.
    ///   - statusURL: Returns the address of the page that shows the status of a deletion request, given the request's
    ///     code; nil if the deployment does not set its public address.
    ///   - logger: The logger of the request.
    /// - Returns: The receipt in the provider's format.
    /// - Throws: `malformed_request` if the callback is not genuine; `provider_misconfigured` if the deployment does
    ///   not set its public address; `store_unavailable` and similar errors. Nothing has been written after these
    ///   errors.
    package func requestDeletion(
        _ form: FormFields,
        by provider: ProviderName,
        of loaded: LoadedApplication,
        statusURL: ((_ code: String) -> String)?,
        logger: Logger
    ) async throws(Failure) -> JSONObject {
        let caller = try loaded.caller(provider, as: (any RemovalReporting).self)
        let removal = try await loaded.verified(caller) { () throws(Failure) in try caller.removal(in: form) }
        guard let statusURL else {
            throw Failure(
                .providerMisconfigured,
                """
                The service does not know its public address, which is needed for the status page of the deletion. The \
                operator must set FEDERATION_PUBLIC_URL.
                """,
                retryAfter: 60,
                cause: "FEDERATION_PUBLIC_URL is not set; a request for deletion was turned away"
            )
        }
        let all = loaded.concerned(by: removal.identity, calling: caller)
        let requests = all.map { concerned in
            NewDeletionRequest(
                of: concerned.identity,
                in: removal.hash,
                issued: removal.issuedAt,
                days: concerned.instance.eraseAfterDays,
                random: random
            )
        }
        let stored = try await store.openDeletions(requests, of: loaded.application)
        for (name, stored) in zip(all.map(\.identity.provider), stored) {
            logger.info(
                "deletion requested",
                metadata: [
                    "application": "\(loaded.application.id)", "deletion": "\(stored.code)",
                    "provider": "\(name)",
                ]
            )
            if stored.done == nil, stored.due <= stored.requested {
                _ = await erasures.erase(code: stored.code, by: .provider(name), of: loaded, logger: logger)
            }
        }
        guard let receipt = zip(all, stored).first(where: { $0.0.identity.provider == provider })?.1 else {
            throw Failure(.internal, "The deletion request could not be stored.")
        }
        return caller.receipt(code: receipt.code, statusURL: statusURL(receipt.code))
    }

    /// Returns the status of the deletion request that has a given code; nil for an unknown or malformed code.
    package func deletionStatus(
        of code: String,
        in loaded: LoadedApplication
    ) async throws(Failure) -> DeletionStatus? {
        guard DeletionCode.isCode(code),
            let stored = try await store.deletion(code: code, of: loaded.application)
        else { return nil }
        let state: DeletionStatus.State =
            if let done = stored.done { .done(done) } else if stored.due > clock.milliseconds {
                .waiting(until: stored.due)
            } else {
                .inProgress
            }
        return DeletionStatus(
            application: loaded.application.name,
            provider: stored.provider.map(loaded.title) ?? "The provider",
            received: stored.requested,
            state: state
        )
    }
}
