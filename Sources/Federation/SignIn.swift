import FoundationEssentials
import Graph
package import Identity
package import Logging
import Mapping
import Store
import Verification

/// What a client sends to log in, parsed at the edge.
package struct LoginRequest: Sendable {
    /// What the request holds by way of credentials; exactly one is wanted.
    package let credential: CredentialFields
    /// The client's own mapping: an object of Graph field → property.
    package let mapping: JSONValue?
    /// Which of the application's Facebook apps the credential is for.
    package let appID: String?
    /// The session that the client already has; it ends when it is the same user's.
    package let previousToken: SessionToken?
    /// What the client gives to one login and all its repetitions.
    package let idempotencyKey: String?

    package init(
        credential: CredentialFields,
        mapping: JSONValue?,
        appID: String?,
        previousToken: SessionToken?,
        idempotencyKey: String? = nil
    ) {
        self.credential = credential
        self.mapping = mapping
        self.appID = appID
        self.previousToken = previousToken
        self.idempotencyKey = idempotencyKey
    }
}

/// A login that succeeded.
package struct SignedIn: Sendable {
    package let user: User
    package let token: SessionToken
    /// Whether this login created the user.
    package let created: Bool
    /// Facebook permissions whose absence left mapped properties unfilled.
    package let missingPermissions: [String]
}

extension Federation {
    /// Logs a person in by a Facebook credential: proves it, maps the profile, writes identity, user and session.
    ///
    /// Says in one log line how it went.
    package func signIn(
        _ request: LoginRequest,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> SignedIn {
        let started = ContinuousClock.now
        do throws(Failure) {
            guard admission.enter() else {
                throw Failure(.overloaded, "Too many logins are under way. Try again shortly.", retryAfter: 1)
            }
            defer { admission.leave() }
            let result = try await withCurrent(loaded) { (loaded) throws(Failure) in
                try await perform(request, to: loaded, started: started)
            }
            log(.success(result), of: loaded, started: started, logger: logger)
            return result
        } catch {
            log(.failure(error), of: loaded, started: started, logger: logger)
            throw error.withoutCause
        }
    }

    private func perform(
        _ request: LoginRequest,
        to loaded: LoadedApplication,
        started: ContinuousClock.Instant
    ) async throws(Failure) -> SignedIn {
        let attempt = LoginAttempt(request: request, loaded: loaded, end: started + limits.login, limits: limits)
        switch try Credential(request.credential) {
        case .accessToken(let token):
            let plan = try loaded.plan(clientMapping: request.mapping)
            let proof = try await prove(accessToken: token, in: attempt, mapping: plan.mapping)
            return try await complete(proof, by: plan, in: attempt)
        case .idToken(let token, let nonce):
            let plan = try loaded.plan(clientMapping: request.mapping)
            let proof = try await prove(idToken: token, nonce: nonce, in: attempt)
            return try await complete(proof, by: plan, in: attempt)
        case .code(let code, let redirectURI, let codeVerifier):
            let plan = try loaded.plan(clientMapping: request.mapping)
            let proof = try await prove(
                code: code,
                redirectURI: redirectURI,
                codeVerifier: codeVerifier,
                in: attempt,
                mapping: plan.mapping
            )
            return try await completeOnce(proof, mapping: request.mapping, in: attempt)
        case .loginCode(let code, let codeVerifier):
            // The mapping was asked for when the dialog began.
            let (proof, mapping) = try await redeem(loginCode: code, codeVerifier: codeVerifier, in: attempt)
            return try await completeOnce(proof, mapping: mapping, in: attempt)
        }
    }

    /// Says in one log line how a login went.
    func log(
        _ outcome: Result<SignedIn, Failure>,
        of loaded: LoadedApplication,
        started: ContinuousClock.Instant,
        logger: Logger
    ) {
        var metadata: Logger.Metadata = [
            "application": "\(loaded.application.id)",
            "provider": "facebook",
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

extension SessionToken {
    /// What the database knows of the token.
    var hash: [UInt8] { Digest.sha256(secret.reveal()) }
}
