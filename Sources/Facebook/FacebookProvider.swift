package import Domain
package import Mapping
package import Providers
import SignedTokens

/// A provider of the kind Facebook, as one application has configured it.
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
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        switch try Credential(credential) {
        case .accessToken(let token):
            let fields = try question.fields()
            return try await authenticate(by: token, of: apps(named: question.appID), fields: fields, question)
        case .idToken(let token, let nonce):
            // An error in the mapping must be reported before the single-use token is used up.
            _ = try question.fields()
            return try await authenticate(byIDToken: token, nonce: nonce, question)
        case .code(let code, let redirectURI, let codeVerifier):
            return try await authenticate(
                by: DialogCode(code: code, redirectURI: redirectURI, codeVerifier: codeVerifier),
                question,
                claim: claim
            )
        case .loginCode:
            // The service issued this code itself. It accepts the code only at the end of a login through the server.
            throw .loginCodeElsewhere
        }
    }

    package func preview(
        _ credential: CredentialFields,
        _ question: VerificationRequest
    ) async throws(Failure) -> VerifiedIdentity {
        guard case .accessToken(let token) = try Credential(credential) else {
            throw Failure(
                .credentialWrongKind,
                """
                A preview needs an access token to read the profile from Graph. Send the claims of an ID token as a \
                sample profile.
                """
            )
        }
        return try await verified(
            by: token,
            of: apps(named: question.appID),
            fields: question.fields(),
            deadline: question.deadline
        )
    }

    /// Verifies an access token that a client sends to log in.
    ///
    /// Facebook must have issued the token for one of the application's apps (decision D2).
    func authenticate(
        by token: Secret,
        of apps: [ProviderApp],
        fields: String,
        _ question: VerificationRequest,
        isRepeatable: Bool = true
    ) async throws(Failure) -> AuthenticationResult {
        let verified = try await verified(by: token, of: apps, fields: fields, deadline: question.deadline)
        return AuthenticationResult(
            verified: verified,
            profile: AdmittedProfile(verified.profile, by: self.fields),
            token: ProviderToken(kind: .access, text: token, expiresAt: verified.credentialExpiresAt),
            isRepeatable: isRepeatable
        )
    }

    /// Verifies an access token with each app in turn.
    ///
    /// A token that is for none of the apps is refused.
    ///
    /// Logins and previews share this method, so that both come to the same verdict.
    ///
    /// - Returns: The verified user, with the requested fields.
    /// - Throws: The reason why the token is refused.
    private func verified(
        by token: Secret,
        of apps: [ProviderApp],
        fields: String,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> VerifiedIdentity {
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
            case .accepted(let verified): return verified
            case .refused(let failure): throw failure
            case .otherApp: continue
            }
        }
        throw Failure(
            .credentialInvalid,
            "The access token was issued for another Facebook app. Log in with the app id of this application."
        )
    }

    /// Verifies an ID token of Limited Login (decision D3).
    ///
    /// The token is never sent to Facebook. At most, the service fetches Facebook's key set. The token is single-use:
    /// the database write of the login marks the token as used.
    private func authenticate(
        byIDToken text: Secret,
        nonce: Secret?,
        _ question: VerificationRequest
    ) async throws(Failure) -> AuthenticationResult {
        let apps = try apps(named: question.appID)
        let token = try SignedToken(text)
        let check = IDTokenCheck(
            provider: Self.title,
            issuers: graph.configuration.issuers,
            apps: apps.map(\.id),
            noncePolicy: settings.options.nonce,
            longestAge: settings.options.idTokenSeconds
        )
        let now = clock.seconds
        let accepted = try await keys.verify(token, until: question.deadline) { (key) throws(Failure) in
            let began = ContinuousClock.now
            defer { VerificationTimer.note(since: began) }
            return try check.accept(token, signedBy: key, nonce: nonce, now: now)
        }
        let verified = try VerifiedIdentity(accepted, of: name)
        return AuthenticationResult(
            verified: verified,
            profile: AdmittedProfile(verified.profile, by: fields),
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
