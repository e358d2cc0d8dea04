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

    package init(credential: CredentialFields, mapping: JSONValue?, appID: String?, previousToken: SessionToken?) {
        self.credential = credential
        self.mapping = mapping
        self.appID = appID
        self.previousToken = previousToken
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
        let token = try Credential(request.credential).accessToken()
        let (settings, apps) = try loaded.facebook(appID: request.appID)
        let plan = try loaded.plan(clientMapping: request.mapping)
        let person = try await graph.prove(
            token,
            by: apps,
            settings: settings,
            mapping: plan.mapping,
            application: loaded.application.id,
            deadline: started + limits.login - limits.storeReserve
        )
        let mapped = try plan.mapping.apply(to: person.profile, grantedScopes: person.scopes)
        if !plan.mapping.newDynamicNames.isEmpty {
            try await store.registerDynamicNames(plan.mapping.newDynamicNames, of: loaded.application.id)
        }
        let session = SessionToken(random: Random.bytes(32))
        let written = try await store.signIn(
            SignInWrite(
                person: person,
                freshID: ObjectID(UUID()),
                tokenHash: session.hash,
                previousTokenHash: request.previousToken?.hash,
                sessionSeconds: loaded.application.settings.sessionAbsoluteSeconds,
                values: plan.columnValues(of: mapped),
                dynamic: plan.dynamicValues(of: mapped)
            ),
            by: plan.statement,
            deadline: started + limits.login
        )
        return SignedIn(
            user: written.user,
            token: session,
            created: written.created,
            missingPermissions: mapped.missingPermissions
        )
    }

    private func log(
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
