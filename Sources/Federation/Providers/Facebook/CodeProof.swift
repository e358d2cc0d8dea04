import Graph
import Vocabulary
import Mapping
import Store
import Verification

extension Federation {
    /// Proves an authorization code of the client's own dialog: exchanges it, once, and proves the access token that it gives.
    ///
    /// Nothing is sent unless the redirect URI is one of the operator's, to the byte.
    func prove(
        code: Secret,
        redirectURI: String,
        codeVerifier: Secret?,
        in attempt: LoginAttempt,
        mapping: CompiledMapping
    ) async throws(Failure) -> Proof {
        let (settings, _) = try attempt.loaded.facebook(appID: attempt.request.appID)
        guard settings.options.redirectURIs.contains(where: { $0.hasSameBytes(as: redirectURI) }) else {
            throw Failure(
                .credentialInvalid,
                """
                redirectUri is none of those that the operator allows for this application; it must be the same to the byte. The \
                operator adds it to redirectUris of the provider.
                """
            )
        }
        let code = try AuthorizationCode(code, redirectURI: redirectURI, codeVerifier: codeVerifier)
        return try await prove(code, in: attempt, mapping: mapping)
    }

    /// Proves an authorization code, whichever dialog it is of.
    ///
    /// A code cannot be tried at one app after another, so it counts for the app that the attempt names, or for the first one. It counts
    /// once, on whatever instance and whatever comes of it (decision D13). `onLostChallenge` hears when Facebook has forgotten the
    /// challenge that the code's dialog was opened with.
    func prove(
        _ code: AuthorizationCode,
        in attempt: LoginAttempt,
        mapping: CompiledMapping,
        onLostChallenge: (ProviderAppID) async -> Void = { _ in }
    ) async throws(Failure) -> Proof {
        let (settings, apps) = try attempt.loaded.facebook(appID: attempt.request.appID)
        guard let app = apps.first else {
            throw LoadedApplication.unusable(cause: "the application has no Facebook app")
        }
        let application = attempt.loaded.application
        let answer = try await graph.exchange(
            code,
            app: app,
            settings: settings,
            application: application.id,
            deadline: attempt.providerDeadline
        ) { () throws(Failure) in try await claim(code, of: application) }
        switch answer {
        case .challengeLost(let failure):
            await onLostChallenge(app.id)
            throw failure
        case .token(let token):
            do throws(Failure) {
                return try await prove(accessToken: token, of: [app], settings: settings, in: attempt, mapping: mapping)
            } catch {
                throw error.startingOver
            }
        }
    }

    /// Seconds for which an authorization code that came once is refused here; after that Facebook has long ended it.
    private static let codeSeconds: Int64 = 3600

    /// - Throws: `credential_invalid` for a code that has come before; `store_unavailable` and its like.
    private func claim(_ code: AuthorizationCode, of application: Application) async throws(Failure) {
        let hash = Digest.sha256(code.code.reveal())
        guard try await store.use(.code, hash: hash, seconds: Self.codeSeconds, of: application) else {
            throw .usedCode(cause: "an authorization code came again")
        }
    }
}
