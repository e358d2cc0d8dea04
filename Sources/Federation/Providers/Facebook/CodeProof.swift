import Graph
import Identity
import Mapping
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
    /// A code cannot be tried at one app after another, so it counts for the app that the attempt names, or for the first one.
    func prove(
        _ code: AuthorizationCode,
        in attempt: LoginAttempt,
        mapping: CompiledMapping
    ) async throws(Failure) -> Proof {
        let (settings, apps) = try attempt.loaded.facebook(appID: attempt.request.appID)
        guard let app = apps.first else {
            throw LoadedApplication.unusable(cause: "the application has no Facebook app")
        }
        let token = try await graph.exchange(
            code,
            app: app,
            settings: settings,
            application: attempt.loaded.application.id,
            deadline: attempt.providerDeadline
        )
        do throws(Failure) {
            return try await prove(accessToken: token, of: [app], settings: settings, in: attempt, mapping: mapping)
        } catch {
            throw error.startingOver
        }
    }
}
