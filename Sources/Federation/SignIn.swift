import FoundationEssentials
package import Identity
package import Logging
import Store

/// What a client sends to log in, parsed at the edge.
///
/// A class, since a login that waits for the provider has it in the frame of each function that waits.
package final class LoginRequest: Sendable {
    package let provider: ProviderName
    /// What the request holds by way of credentials; exactly one is wanted.
    package let credential: CredentialFields
    /// The client's own mapping: an object of field → property.
    package let mapping: JSONValue?
    /// Which of the application's apps at the provider the credential is for.
    package let appID: String?
    /// The session that the client already has; it ends when it is the same user's.
    package let previousToken: SessionToken?
    /// What the client gives to one login and all its repetitions.
    package let idempotencyKey: String?
    /// The guest whom the login makes a user.
    package let guest: GuestClaim?

    package init(
        provider: ProviderName,
        credential: CredentialFields,
        mapping: JSONValue?,
        appID: String?,
        previousToken: SessionToken?,
        idempotencyKey: String? = nil,
        guest: GuestClaim? = nil
    ) {
        self.provider = provider
        self.credential = credential
        self.mapping = mapping
        self.appID = appID
        self.previousToken = previousToken
        self.idempotencyKey = idempotencyKey
        self.guest = guest
    }
}

/// A guest as its client names it; the session proves that the guest is the client's.
package struct GuestClaim: Sendable {
    package let id: ObjectID
    package let token: SessionToken

    package init(id: ObjectID, token: SessionToken) {
        self.id = id
        self.token = token
    }
}

/// A login that succeeded.
package struct SignedIn: Sendable {
    package let user: User
    package let token: SessionToken
    /// Whether this login created the user.
    package let created: Bool
    /// Permissions at the provider whose absence left mapped properties unfilled.
    package let missingPermissions: [String]
}

extension Federation {
    /// Logs a person in by a provider's credential: proves it, maps the profile, writes identity, user and session.
    ///
    /// Says in one log line how it went.
    package func signIn(
        _ request: LoginRequest,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> SignedIn {
        let started = ContinuousClock.now
        do throws(Failure) {
            let result = try await admitted { () throws(Failure) in
                try await withCurrent(loaded) { (loaded) throws(Failure) in
                    try await perform(request, to: loaded, started: started)
                }
            }
            log(.success(result), by: request.provider, of: loaded, started: started, logger: logger)
            return result
        } catch {
            log(.failure(error), by: request.provider, of: loaded, started: started, logger: logger)
            throw error.withoutCause
        }
    }

    private func perform(
        _ request: LoginRequest,
        to loaded: LoadedApplication,
        started: ContinuousClock.Instant
    ) async throws(Failure) -> SignedIn {
        let attempt = LoginAttempt(request: request, loaded: loaded, end: started + limits.login, limits: limits)
        guard let provider = IdentityProviders.named(request.provider) else {
            throw Failure(.providerNotConfigured, "This service knows no login with \(request.provider).")
        }
        switch try await provider.prove(attempt, in: self) {
        case .repeatable(let proof, let plan): return try await complete(proof, by: plan, in: attempt)
        case .usedUp(let proof, let mapping): return try await completeOnce(proof, mapping: mapping, in: attempt)
        }
    }

    /// Says in one log line how a login went.
    func log(
        _ outcome: Result<SignedIn, Failure>,
        by provider: ProviderName,
        of loaded: LoadedApplication,
        started: ContinuousClock.Instant,
        logger: Logger
    ) {
        var metadata: Logger.Metadata = [
            "application": "\(loaded.application.id)",
            "provider": "\(provider)",
            "ms": "\(started.duration(to: .now) / .milliseconds(1))",
        ]
        switch outcome {
        case .success(let result):
            metadata["outcome"] = result.created ? "created" : "updated"
            metadata["user"] = "\(result.user.objectID)"
            logger.info("login", metadata: metadata)
        case .failure(let failure):
            metadata["outcome"] = "\(failure.reason.rawValue)"
            if let cause = failure.cause { metadata["cause"] = "\(cause)" }
            for member in failure.details.members where member.key.hasPrefix("graph") {
                metadata[member.key] = "\(member.value.text)"
            }
            logger.notice("login", metadata: metadata)
        }
    }
}
