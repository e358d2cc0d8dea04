package import AuthorizationServers
import Curl
package import Domain
import Encodings
package import Mapping
package import Providers

/// A provider of the kind OAuth 2.0, as one application has configured it.
package struct OAuth2Provider: Provider {
    package let name: ProviderName
    package let isEnabled: Bool
    package let apps: [ProviderApp]
    let settings: OAuth2Settings
    package let server: AuthorizationServer
    let clock: WallClock

    package var title: String { settings.title }
    package var fields: ProfileFields { settings.fields }
}

extension OAuth2Provider: CredentialVerifying {
    package func authenticate(
        by credential: CredentialFields,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        switch try GivenCredential(credential) {
        case .accessToken(let text):
            let (verified, checked, client) = try await verified(byAccess: Secret(text), question)
            return result(verified, token: kept(Secret(text), of: client, until: checked.expiresAt))
        case .code(let code, let redirectURI):
            guard let redirectURI else { throw .codeWithoutRedirectURI }
            try RedirectTarget.check(redirectURI, among: settings.options.redirectURIs)
            try Credentials.check(code, at: title)
            return try await exchange(
                DialogCode(code: code, redirectURI: redirectURI, codeVerifier: credential.secret(\.codeVerifier)),
                question,
                claim: claim
            )
        case .idToken:
            throw Failure(
                .credentialWrongKind,
                "\(title) has no ID tokens. Send an access token as accessToken, or an authorization code as code."
            )
        case .loginCode: throw .loginCodeElsewhere
        }
    }

    package func preview(
        _ credential: CredentialFields,
        _ question: VerificationRequest
    ) async throws(Failure) -> VerifiedIdentity {
        guard case .accessToken(let text) = try GivenCredential(credential) else {
            throw Failure(.credentialWrongKind, "A preview needs an access token. Send it as accessToken.")
        }
        return try await verified(byAccess: Secret(text), question).0
    }

    /// Checks for which client an access token was issued, and reads the profile of its user.
    func verified(
        byAccess token: Secret,
        _ question: VerificationRequest
    ) async throws(Failure) -> (VerifiedIdentity, CheckedToken, ProviderAppID) {
        _ = try question.fields()
        try Credentials.check(token, at: title)
        let checked = try await checked(token, among: try apps(named: question.appID), until: question.deadline)
        let profile = try await profile(
            by: token,
            for: checked.client,
            subject: checked.subject,
            until: question.deadline
        )
        return (try verified(profile, scopes: checked.scopes, until: checked.expiresAt), checked, checked.client)
    }

    /// Checks an access token of one of our apps.
    ///
    /// A server such as GitHub tells an app only of the app's own tokens. So the service tries one app after the other.
    /// An app that cannot ask, such as one with a wrong secret, keeps no other from asking.
    private func checked(
        _ token: Secret,
        among apps: [ProviderApp],
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> CheckedToken {
        let ours = apps.map(\.id)
        var failure: Failure?
        for app in settings.tokenCheck?.form == .json ? apps[...] : apps.prefix(1) {
            do throws(Failure) {
                return try await checked(token, as: credentials(of: app), issuedFor: ours, until: deadline)
            } catch {
                if failure.map({ $0.reason == .credentialInvalid }) ?? true { failure = error }
            }
        }
        throw failure ?? .unusableConfiguration(cause: "the provider has no app")
    }

    func checked(
        _ token: Secret,
        as client: ClientCredentials,
        issuedFor ours: [ProviderAppID],
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> CheckedToken {
        guard let check = settings.tokenCheck else {
            throw Failure(
                .credentialWrongKind,
                "\(title) does not say for whom it issued an access token. Send an authorization code as code."
            )
        }
        return try await server.checked(token, by: check, as: client, issuedFor: ours, until: deadline)
    }

    /// Reads the profile of the user to whom an access token belongs.
    ///
    /// - Parameters:
    ///   - token: The access token.
    ///   - client: The client of the token.
    ///   - subject: The user, as the server has said elsewhere; nil if it has not.
    ///   - deadline: The moment at which the response must be there.
    /// - Returns: The profile.
    /// - Throws: `credential_invalid` if the profile is of another user; `provider_unavailable` and similar errors.
    func profile(
        by token: Secret,
        for client: ProviderAppID,
        subject: String?,
        until deadline: ContinuousClock.Instant
    ) async throws(Failure) -> JSONObject {
        let url = try ServerAddress.url(settings.profileURL, of: server.service)
        let profile = try await server.profile(by: token, of: client, at: url, until: deadline)
        if let subject, self.subject(in: profile)?.text.hasSameBytes(as: subject) != true {
            throw Failure(
                .credentialInvalid,
                "The profile of \(title) is of another user than the access token.",
                cause: "the subject of the profile differs from that of the check"
            )
        }
        return profile
    }

    private func subject(in profile: JSONObject) -> Subject? {
        MemberPath.value(at: settings.preset.subject, in: profile)?.identifier.flatMap { Subject($0) }
    }

    func verified(
        _ profile: JSONObject,
        scopes: [String]?,
        until end: Int64?
    ) throws(Failure) -> VerifiedIdentity {
        guard let subject = subject(in: profile) else {
            throw .badReply(server.service, cause: "the profile has no \(settings.preset.subject)")
        }
        return VerifiedIdentity(
            identity: IdentityKey(provider: name, app: .global, subject: subject),
            profile: profile,
            scopes: scopes ?? [],
            scopesAreListed: scopes != nil,
            dataAccessExpiresAt: nil,
            credentialExpiresAt: end
        )
    }

    func result(
        _ verified: VerifiedIdentity,
        token: ProviderToken?,
        isRepeatable: Bool = true
    ) -> AuthenticationResult {
        AuthenticationResult(
            verified: verified,
            profile: AdmittedProfile(verified.profile, by: fields),
            token: token,
            isRepeatable: isRepeatable
        )
    }

    private func kept(_ token: Secret, of client: ProviderAppID, until end: Int64?) -> ProviderToken? {
        guard settings.options.keepTokens else { return nil }
        return KeptGrant(ProviderToken(kind: .access, text: token, expiresAt: end), of: client).kept
    }
}
