package import Logging
import NIOConcurrencyHelpers
package import Vocabulary

/// The keys with which an issuer signs ID tokens: fetched when `SigningKeyCache` says so, by one caller for all.
package final class SigningKeys: Sendable {
    private struct State {
        var cache = SigningKeyCache()
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextID: UInt64 = 0
    }

    /// The issuer's name for people.
    private let issuer: String
    /// Fetches the keys of the issuer's JWK set.
    private let fetchSet: @Sendable (_ deadline: ContinuousClock.Instant) async throws(Failure) -> [JSONObject]
    private let logger: Logger
    /// The clock by which keys age.
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = NIOLockedValueBox(State())

    /// Makes the keys of an issuer; nothing is fetched before the first token.
    ///
    /// - Parameters:
    ///   - issuer: Its name for people.
    ///   - logger: Gets a line when keys could not be fetched.
    ///   - now: The clock by which keys age.
    ///   - fetch: Fetches the keys of the issuer's JWK set.
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

    /// The key of that name.
    ///
    /// - Parameters:
    ///   - id: What a token says.
    ///   - deadline: When the issuer must have answered, if it is asked.
    /// - Returns: The key, without any call while it is known and not too old.
    /// - Throws: `credential_invalid` when the issuer has no such key; `provider_unavailable` and its like when it
    ///   could not be asked.
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
                // The fetch has had all the time that there was, in vain.
                if let key = state.withLockedValue({ $0.cache.known(id, at: now()) }) { return key }
                throw Failure(
                    .providerTimeout,
                    "\(issuer) did not answer in time. Try again in a moment.",
                    retryAfter: 2
                )
            }
        }
    }

    /// Fetches the keys in a task of its own: whoever needed them first may go away, and the others still want them.
    private func fetch(until deadline: ContinuousClock.Instant) {
        Task {
            let outcome = await fetched(until: deadline)
            // Logins go on with keys that are known, so nobody else may come to hear of it.
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
                    "\(issuer)'s keys cannot be understood. Try again later.",
                    cause: "the document of keys holds none for RS256"
                )
            )
        } catch {
            return .failure(error)
        }
    }

    /// Waits until the fetch that is under way has ended, or the caller is cancelled.
    ///
    /// It ends by the deadline of the login that began it, which is no later than that of any login that waits.
    private func waitForFetch() async {
        let id = state.withLockedValue { state in
            state.nextID &+= 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLockedValue { state in
                    // A cancellation that came before this is seen here; one that comes after it finds the
                    // continuation.
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
