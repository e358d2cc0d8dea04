package import Domain
package import Mapping
package import Providers
import SignedTokens

/// The provider Facebook of one application.
package struct FacebookProvider: Provider {
    package let name: ProviderName
    let application: ApplicationID
    package let settings: FacebookSettings
    let graph: GraphClient
    let keys: SigningKeys
    let clock: WallClock

    static let title = "Facebook"

    package var title: String { Self.title }
    package var fields: ProfileFields { .facebook }
    package var isEnabled: Bool { settings.enabled }
    package var apps: [ProviderApp] { settings.apps }
    package var loggedDetails: [String] { ["graphCode", "graphSubcode", "graphType"] }
}

// MARK: - Credentials

extension FacebookProvider: CredentialVerifying, NonceBinding {
    package func authenticate(
        by credential: CredentialFields,
        _ question: ProviderQuestion,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        switch try Credential(credential) {
        case .accessToken(let token):
            let fields = try question.fields()
            return try await authenticate(by: token, of: apps(named: question.appID), fields: fields, question)
        case .idToken(let token, let nonce):
            // Errors in the mapping are reported before the single-use token is consumed.
            _ = try question.fields()
            return try await authenticate(byIDToken: token, nonce: nonce, question)
        case .code(let code, let redirectURI, let codeVerifier):
            return try await authenticate(
                by: DialogCode(code: code, redirectURI: redirectURI, codeVerifier: codeVerifier),
                question,
                claim: claim
            )
        case .loginCode:
            // The service issued the code itself, and accepts it only where a login may end with one.
            throw Failure(.credentialInvalid, "A loginCode is taken from a login through the server alone.")
        }
    }

    package func preview(
        _ credential: CredentialFields,
        _ question: ProviderQuestion
    ) async throws(Failure) -> VerifiedPerson {
        guard case .accessToken(let token) = try Credential(credential) else {
            throw Failure(
                .credentialWrongKind,
                "A preview asks Graph for the profile, which takes an access token. Give the claims of an ID token as a sample profile."
            )
        }
        return try await person(
            by: token,
            of: apps(named: question.appID),
            fields: question.fields(),
            deadline: question.deadline
        )
    }

    /// Verifies an access token that was issued for one of these apps (decision D2).
    func authenticate(
        by token: Secret,
        of apps: [ProviderApp],
        fields: String,
        _ question: ProviderQuestion,
        isRepeatable: Bool = true
    ) async throws(Failure) -> AuthenticationResult {
        let person = try await person(by: token, of: apps, fields: fields, deadline: question.deadline)
        return AuthenticationResult(
            person: person,
            profile: AdmittedProfile(person.profile, by: self.fields),
            token: ProviderToken(kind: .access, text: token, expiresAt: person.credentialExpiresAt),
            isRepeatable: isRepeatable
        )
    }

    /// Verifies an access token with each app in turn; a token of none of the apps is refused.
    ///
    /// Logins and previews share this method, so that they come to the same verdict.
    ///
    /// - Returns: The verified user, with the fields.
    /// - Throws: The reason why the token is refused.
    private func person(
        by token: Secret,
        of apps: [ProviderApp],
        fields: String,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> VerifiedPerson {
        for app in apps {
            let now = clock.seconds
            let evidence = await graph.evidence(
                token: token,
                app: app,
                settings: settings,
                fields: fields,
                application: application,
                deadline: deadline,
                now: now
            )
            let began = ContinuousClock.now
            defer { VerificationTimer.note(since: began) }
            switch AccessTokenCheck.verify(evidence: evidence, app: app, of: name, now: now) {
            case .accepted(let person): return person
            case .refused(let failure): throw failure
            case .otherApp: continue
            }
        }
        throw Failure(
            .credentialInvalid,
            "The access token was made for another Facebook app. Log in with the app id of this application."
        )
    }

    /// Verifies an ID token of Limited Login (decision D3).
    ///
    /// Facebook is not asked about the token; only its key set may have to be fetched. The login makes the token
    /// single-use.
    private func authenticate(
        byIDToken text: Secret,
        nonce: Secret?,
        _ question: ProviderQuestion
    ) async throws(Failure) -> AuthenticationResult {
        let apps = try apps(named: question.appID)
        let token = try SignedToken(text)
        let key = try await keys.key(token.keyID, until: question.deadline)
        let check = IDTokenCheck(
            provider: Self.title,
            issuers: graph.configuration.issuers,
            apps: apps.map(\.id),
            noncePolicy: settings.options.nonce,
            longestAge: settings.options.idTokenSeconds
        )
        let now = clock.seconds
        let began = ContinuousClock.now
        defer { VerificationTimer.note(since: began) }
        let accepted = try check.accept(token, signedBy: key, nonce: nonce, now: now)
        let person = try VerifiedPerson(accepted, of: name)
        return AuthenticationResult(
            person: person,
            profile: AdmittedProfile(person.profile, by: fields),
            token: ProviderToken(kind: .id, text: text, expiresAt: accepted.expiry),
            singleUse: SingleUseCredential(
                digest: accepted.digest,
                issuedAt: accepted.issued,
                seconds: accepted.end - now,
                serverNonce: accepted.serverNonce
            )
        )
    }
}
