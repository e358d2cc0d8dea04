import AuthorizationServers
package import Domain
package import Providers

// The login dialog, and the exchange of its codes.

extension OAuth2Provider: DialogOffering {
    package var kind: ProviderName { .oauth2 }
    package var returnURLs: [String] { settings.options.returnURLs }
    package var dialogChallenge: DialogChallenge { settings.preset.pkce ? .on : .off }

    package func address(of dialog: Dialog, until deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        let url = try ServerAddress.url(settings.authorizationURL, of: server.service)
        return dialog.address(at: url, scopes: settings.scopes)
    }

    package func check(_ wishes: DialogParameters) throws(Failure) {
        try wishes.check(needed: nil, at: title)
    }

    package func failure(in answer: DialogAnswer) -> Failure? { server.failure(in: answer) }
    package func declinedScopes(in answer: DialogAnswer) -> [String]? { nil }

    package func finish(
        _ code: DialogCode,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> FinishedDialog {
        do throws(Failure) { return .authenticated(try await exchange(code, question, claim: claim)) } catch {
            throw error.startingOver(at: title)
        }
    }

    /// Exchanges an authorization code for an access token, and reads the profile.
    ///
    /// The server itself hands out the token to our client, so no check of its client is needed.
    func exchange(
        _ code: DialogCode,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        _ = try question.fields()
        let (app, deadline) = (try app(named: question.appID), question.deadline)
        let tokens = try await tokenEndpoint(until: deadline).exchange(
            code,
            as: credentials(of: app),
            until: deadline,
            claim: claim
        )
        guard let token = tokens.accessToken else {
            throw .badReply(server.service, cause: "the token response has no access_token")
        }
        let profile = try await profile(by: token, for: app.id, subject: nil, until: deadline)
        let grant = KeptGrant(tokens, of: app.id, keepsAccessTokens: true, now: clock.seconds)
        return result(
            try verified(profile, scopes: tokens.scopes, until: tokens.seconds.map { clock.seconds + $0 }),
            token: settings.options.keepTokens ? grant?.kept : nil,
            isRepeatable: false
        )
    }

    func credentials(of app: ProviderApp) -> ClientCredentials {
        ClientCredentials(id: app.id, secret: app.secret, by: settings.preset.authentication)
    }
}
