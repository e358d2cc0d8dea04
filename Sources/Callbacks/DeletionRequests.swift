package import Applications
package import Deletions
package import Logging
import Providers
import Secrets
package import Store
package import Vocabulary

/// How far a request for deletion is.
package struct DeletionStatus: Sendable {
    package enum State: Sendable {
        /// Milliseconds since 1970 UTC.
        case done(Int64)
        /// Until when it will be done, milliseconds since 1970 UTC.
        case waiting(until: Int64)
        /// It should have been done, and something stands in the way.
        case inProgress
    }

    /// What the operator calls the application.
    package let application: String
    /// The name for people of the provider that asked.
    package let provider: String
    /// Milliseconds since 1970 UTC.
    package let received: Int64
    package let state: State
}

/// Providers that ask for a person's data to be deleted.
package struct DeletionRequests: Sendable {
    let store: Store
    let erasures: Erasures
    let clock: WallClock
    let random: RandomSource

    package init(
        store: Store,
        erasures: Erasures,
        clock: WallClock,
        random: RandomSource
    ) {
        self.store = store
        self.erasures = erasures
        self.clock = clock
        self.random = random
    }

    /// Takes a person's request, made at a provider, to delete what we have of them.
    ///
    /// It is written down first, for every instance that has the app, and then carried out, unless the instance lets
    /// that wait. What goes wrong with an erasure is the operator's to mend, so the provider gets its receipt all the
    /// same, and the request stays open. The same call gets the same receipt for ever, and erases nothing a second
    /// time.
    ///
    /// - Parameters:
    ///   - form: As received.
    ///   - provider: Who calls.
    ///   - loaded: The application that was called.
    ///   - statusURL: Where the person sees how far the request with a code is; nil while the deployment does not say
    ///     its own address.
    ///   - logger: Of the request.
    /// - Returns: The receipt, as the provider wants it.
    /// - Throws: `malformed_request` when it is not the provider's, `provider_misconfigured` while the deployment does
    ///   not say its own address, `store_unavailable` and its like; nothing is written then.
    package func requestDeletion(
        _ form: FormFields,
        by provider: ProviderName,
        of loaded: LoadedApplication,
        statusURL: ((_ code: String) -> String)?,
        logger: Logger
    ) async throws(Failure) -> JSONObject {
        let caller = try loaded.caller(provider)
        let removal = try loaded.verified(caller) { (caller) throws(Failure) in try caller.removal(in: form) }
        guard let statusURL else {
            throw Failure(
                .providerMisconfigured,
                """
                The service does not know its own public address, which the person needs to see how far the deletion is. The \
                operator has to set FEDERATION_PUBLIC_URL.
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
            throw Failure(.internal, "The request for deletion could not be written down.")
        }
        return caller.receipt(code: receipt.code, statusURL: statusURL(receipt.code))
    }

    /// How far the request with a code is; nil when there is none, or the text is no code.
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
