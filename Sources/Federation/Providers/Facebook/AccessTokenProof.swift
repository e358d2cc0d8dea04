import FoundationEssentials
import Graph
import Vocabulary
import Mapping
import Verification

// What a login and its preview share: they must come to the same verdict on a token.

extension LoadedApplication {
    /// The apps that a credential may be for.
    ///
    /// - Throws: `provider_not_configured`, `provider_misconfigured`.
    func facebook(appID: String?) throws(Failure) -> (FacebookSettings, [ProviderApp]) {
        let apps = try apps(of: .facebook, appID: appID)
        guard let settings = application.facebook else {
            throw Self.unusable(cause: "the settings of Facebook are another provider's")
        }
        return (settings, apps)
    }
}

extension Federation {
    /// Proves an access token (decision D2).
    func prove(
        accessToken token: Secret,
        in attempt: LoginAttempt,
        mapping: CompiledMapping
    ) async throws(Failure) -> Proof {
        let (settings, apps) = try attempt.loaded.facebook(appID: attempt.request.appID)
        return try await prove(accessToken: token, of: apps, settings: settings, in: attempt, mapping: mapping)
    }

    /// Proves an access token that is of one of these apps.
    func prove(
        accessToken token: Secret,
        of apps: [ProviderApp],
        settings: FacebookSettings,
        in attempt: LoginAttempt,
        mapping: CompiledMapping
    ) async throws(Failure) -> Proof {
        let person = try await graph.prove(
            token,
            by: apps,
            settings: settings,
            mapping: mapping,
            application: attempt.loaded.application.id,
            deadline: attempt.providerDeadline
        )
        return Proof(
            person: person,
            profile: AdmittedProfile(person.profile, by: FacebookProvider.fields),
            token: ProviderToken(kind: .access, text: token, expiresAt: person.credentialExpiresAt)
        )
    }
}

extension GraphClient {
    /// Asks each app in turn whether the token is its own; one that is of no app of ours proves nothing.
    ///
    /// - Returns: The person, with the fields that the mapping reads.
    /// - Throws: Why the token does not count; a field that Facebook does not know is told by the entry that asks for it.
    func prove(
        _ token: Secret,
        by apps: [ProviderApp],
        settings: FacebookSettings,
        mapping: CompiledMapping,
        application: ApplicationID,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> VerifiedPerson {
        for app in apps {
            let now = Int64(Date().timeIntervalSince1970)
            let evidence = await evidence(
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
}
