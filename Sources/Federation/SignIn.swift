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
            let result = try await perform(request, to: loaded, started: started)
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
        let (settings, apps) = try facebook(of: loaded, appID: request.appID)
        let plan = try loaded.plan(clientMapping: request.mapping)
        let person = try await prove(
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

    /// The apps that the credential may be for: the one that the client names, or all of them in the operator's order.
    private func facebook(
        of loaded: LoadedApplication,
        appID: String?
    ) throws(Failure) -> (FacebookSettings, [FacebookApp]) {
        if let defect = loaded.defect { throw LoadedApplication.unusable(cause: defect) }
        guard let settings = loaded.application.facebook, settings.enabled, !settings.apps.isEmpty else {
            throw Failure(
                .providerNotConfigured,
                "Login with Facebook is not set up for this application: it needs an app id and an app secret."
            )
        }
        guard let appID else { return (settings, settings.apps) }
        let named = settings.apps.filter { $0.id.text.hasSameBytes(as: appID) }
        guard !named.isEmpty else {
            throw Failure(.providerNotConfigured, "appId is not one of this application's Facebook apps.")
        }
        return (settings, named)
    }

    /// Asks each app in turn whether the token is its own; one that is of no app of ours proves nothing.
    private func prove(
        _ token: Secret,
        by apps: [FacebookApp],
        settings: FacebookSettings,
        mapping: CompiledMapping,
        application: ApplicationID,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> VerifiedPerson {
        for app in apps {
            let now = Int64(Date().timeIntervalSince1970)
            let evidence = await graph.evidence(
                token: token,
                app: app,
                settings: settings,
                fields: mapping.graphFields,
                application: application,
                deadline: deadline,
                now: now
            )
            switch AccessTokenCheck.verify(evidence: evidence, app: app, now: now) {
            case .accepted(let person): return person
            case .refused(let failure):
                guard failure.reason == .mappingInvalid, let field = failure.details["field"]?.string else {
                    throw failure
                }
                throw mapping.failure(forUnknownField: field)
            case .otherApp: continue
            }
        }
        throw Failure(
            .credentialInvalid,
            "The access token was made for another Facebook app. Log in with the app id of this application."
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
