import FoundationEssentials
package import Vocabulary
package import Logging
import Mapping
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
    /// What properties did not get of the profile, since it does not fit.
    var omissions: [Omission] = []
}

extension Federation {
    /// Logs a person in by a provider's credential: verifies it, maps the profile, writes identity, user and session.
    ///
    /// Says in one log line how it went.
    package func signIn(
        _ request: LoginRequest,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> SignedIn {
        let started = ContinuousClock.now
        do throws(Failure) {
            let result = try await limitingConcurrency { () throws(Failure) in
                let end = started + limits.login
                let attempt = LoginAttempt(request: request, loaded: loaded, end: end, limits: limits)
                return try await withAuthentication(of: attempt) { (login, plan, attempt) throws(Failure) in
                    try await complete(login, by: plan, in: attempt)
                }
            }
            log(.success(result), by: request.provider, of: loaded, started: started, logger: logger)
            return result
        } catch {
            let credential = pseudonyms.pseudonym(of: request.credential, in: loaded.application.id)
            log(
                .failure(error),
                by: request.provider,
                of: loaded,
                started: started,
                logger: logger,
                with: credential.map { ["credential": "\($0)"] } ?? [:]
            )
            throw error.logged
        }
    }

    /// Says in one log line how a login went; one that was refused has further facts.
    func log(
        _ outcome: Result<SignedIn, Failure>,
        by provider: ProviderName,
        of loaded: LoadedApplication,
        started: ContinuousClock.Instant,
        logger: Logger,
        with facts: Logger.Metadata = [:]
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
            metadata.merge(result.omissions.facts) { own, _ in own }
            logger.info("login", metadata: metadata)
        case .failure(let failure):
            metadata["outcome"] = "\(failure.reason.rawValue)"
            if let cause = failure.cause { metadata["cause"] = "\(cause)" }
            for member in failure.details.members where member.key.hasPrefix("graph") {
                metadata[member.key] = "\(member.value.text)"
            }
            logger.notice("login", metadata: metadata.merging(facts) { own, _ in own })
        }
    }
}

extension [Omission] {
    /// Properties and reasons for a line of the log; nothing when all fits.
    var facts: Logger.Metadata { isEmpty ? [:] : ["leftOut": "\(map(\.text).joined(separator: ", "))"] }
}
