package import Domain
package import Encodings
package import Logging
import NIOConcurrencyHelpers

/// The keys with which an issuer signs ID tokens; they are fetched from the issuer and cached.
///
/// `SigningKeyCache` decides when the keys are fetched. All callers share one fetch.
package final class SigningKeys: Sendable {
    private struct State {
        var cache = SigningKeyCache()
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextID: UInt64 = 0
    }

    /// The display name of the issuer of the ID tokens.
    private let issuer: String
    /// Fetches the members of the issuer's JWK set.
    private let fetchSet: @Sendable (_ deadline: ContinuousClock.Instant) async throws(Failure) -> [JSONObject]
    private let logger: Logger
    /// The clock that measures the age of keys.
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = NIOLockedValueBox(State())

    /// Creates an empty key set of an issuer.
    ///
    /// The first token causes the first fetch.
    ///
    /// - Parameters:
    ///   - issuer: The display name of the issuer.
    ///   - logger: Gets one warning for each failed fetch.
    ///   - now: The clock that measures the age of keys.
    ///   - fetch: Fetches the members of the issuer's JWK set.
    package init(
        issuer: String,
        logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        fetch: @escaping @Sendable (_ deadline: ContinuousClock.Instant) async throws(Failure) -> [JSONObject]
    ) {
        self.issuer = issuer
        self.logger = logger
        self.now = now
        fetchSet = fetch
    }

    /// Returns the issuer's key with an id, and fetches the key set if necessary.
    ///
    /// - Parameters:
    ///   - id: The key id in a token.
    ///   - deadline: The moment at which a fetch must be done.
    /// - Returns: The key. No request is sent while the key is known and not stale.
    /// - Throws: `credential_invalid` if the issuer has no such key; `provider_unavailable` or a similar error if the
    ///   key set could not be fetched.
    package func key(_ id: String, until deadline: ContinuousClock.Instant) async throws(Failure) -> SigningKey {
        while true {
            switch state.withLockedValue({ $0.cache.key(id, at: now()) }) {
            case .key(let key):
                return key
            case .keyAndFetch(let key):
                fetch(until: deadline)
                return key
            case .fetch:
                fetch(until: deadline)
                await waitForFetch()
            case .wait:
                await waitForFetch()
            case .unknown:
                throw Failure(
                    .credentialInvalid,
                    "This ID token is signed with a key that \(issuer) does not publish. Log in with \(issuer) again.",
                    cause: "ID token, check 6: kid is not among the published keys"
                )
            case .unavailable(let failure):
                throw failure
            }
            guard !Task.isCancelled, ContinuousClock.now < deadline else {
                // The fetch has used up the time without success. A key that has not expired is still good.
                if let key = state.withLockedValue({ $0.cache.known(id, at: now()) }) { return key }
                throw Failure(
                    .providerTimeout,
                    "\(issuer) did not respond in time. Try again in a moment.",
                    retryAfter: 2
                )
            }
        }
    }

    /// Verifies a token by the issuer's key that the token names.
    ///
    /// If the signature does not fit, the keys are fetched anew, within a bound: the issuer may have given the key's id
    /// to another key.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - deadline: The moment at which a fetch must be done.
    ///   - check: Checks the token by a key.
    /// - Returns: The result of `check`.
    /// - Throws: The errors of ``key(_:until:)`` and of `check`.
    package func verify<Result>(
        _ token: SignedToken,
        until deadline: ContinuousClock.Instant,
        _ check: (SigningKey) throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let key = try await key(token.keyID, until: deadline)
        do throws(Failure) { return try check(key) } catch {
            guard !token.isSigned(by: key) else { throw error }
            switch state.withLockedValue({ $0.cache.renewedKey(token.keyID, at: now()) }) {
            case .fetch:
                fetch(until: deadline)
                await waitForFetch()
            case .wait: await waitForFetch()
            default: throw error
            }
            return try check(try await self.key(token.keyID, until: deadline))
        }
    }

    /// Fetches the keys in a separate task.
    ///
    /// The task goes on if the caller is cancelled, since other callers may wait for the keys, too.
    private func fetch(until deadline: ContinuousClock.Instant) {
        Task {
            let outcome = await fetched(until: deadline)
            // Logins continue with known keys, so only the log shows the failure.
            if case .failure(let failure) = outcome { log(failure) }
            let waiting = state.withLockedValue { state in
                switch outcome {
                case .success(let keys): state.cache.fetched(keys, at: now())
                case .failure(let failure): state.cache.failed(failure, at: now())
                }
                defer { state.waiting.removeAll() }
                return state.waiting.values
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    private func log(_ failure: Failure) {
        var metadata: Logger.Metadata = ["reason": "\(failure.reason.rawValue)"]
        if let cause = failure.cause { metadata["cause"] = "\(cause)" }
        logger.warning("signing keys could not be fetched", metadata: metadata)
    }

    private func fetched(until deadline: ContinuousClock.Instant) async -> Result<[SigningKey], Failure> {
        do throws(Failure) {
            let keys = try await fetchSet(deadline).compactMap(SigningKey.init)
            guard keys.isEmpty else { return .success(keys) }
            return .failure(
                Failure(
                    .providerBadReply,
                    "The key set of \(issuer) cannot be read. Try again later.",
                    cause: "the document of keys holds none that can be used"
                )
            )
        } catch {
            return .failure(error)
        }
    }

    /// Waits until the fetch in progress has ended, or until the caller is cancelled.
    ///
    /// The fetch has the deadline of the login that began it. The logins that wait have the same deadline or a later
    /// one.
    private func waitForFetch() async {
        let id = state.withLockedValue { state in
            state.nextID &+= 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLockedValue { state in
                    // If the task is cancelled before this point, the guard sees it. If it is cancelled later,
                    // `onCancel` finds the continuation.
                    guard state.cache.isFetching, !Task.isCancelled else { return false }
                    state.waiting[id] = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLockedValue { $0.waiting.removeValue(forKey: id) }?.resume()
        }
    }
}
