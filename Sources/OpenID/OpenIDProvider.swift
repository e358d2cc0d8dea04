import AuthorizationServers
import Crypto
package import Domain
import Encodings
package import Mapping
package import Providers
import SignedTokens

/// A provider of the kind OpenID Connect, as one application has configured it.
package struct OpenIDProvider: Provider {
    package let name: ProviderName
    package let isEnabled: Bool
    /// The clients: those with a secret, and after them the others, whose secret is empty.
    package let apps: [ProviderApp]
    let settings: OpenIDSettings
    let party: IssuerParty
    let clock: WallClock

    package var title: String { settings.title }
    package var fields: ProfileFields { settings.fields }
}

// MARK: - Credentials

extension OpenIDProvider: CredentialVerifying, NonceBinding {
    package func authenticate(
        by credential: CredentialFields,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        switch try GivenCredential(credential) {
        case .idToken(let text): return try await authenticate(byIDToken: text, credential, question)
        case .accessToken(let text):
            // Some SDKs send the ID token in this member.
            guard isIDToken(text) else {
                return try await authenticate(byAccessToken: Secret(text), question)
            }
            return try await authenticate(byIDToken: text, credential, question)
        case .code(let code, let redirectURI):
            if let redirectURI {
                try RedirectTarget.check(redirectURI, among: settings.options.redirectURIs)
            } else if !settings.preset.nativeCodes {
                throw .codeWithoutRedirectURI
            }
            try Credentials.check(code, at: title)
            return try await exchange(
                DialogCode(code: code, redirectURI: redirectURI, codeVerifier: credential.secret(\.codeVerifier)),
                nonce: credential.secret(\.nonce),
                policy: settings.options.nonce,
                question,
                claim: claim
            )
        case .loginCode: throw .loginCodeElsewhere
        }
    }

    package func preview(
        _ credential: CredentialFields,
        _ question: VerificationRequest
    ) async throws(Failure) -> VerifiedIdentity {
        switch try GivenCredential(credential) {
        case .accessToken(let text) where !isIDToken(text):
            return try await checked(Secret(text), question).verified
        case .idToken(let text), .accessToken(let text):
            _ = try question.fields()
            let nonce = credential.secret(\.nonce)
            return try verified(try await accepted(Secret(text), nonce: nonce, policy: .clientMade, question).0)
        case .code, .loginCode:
            throw Failure(
                .credentialWrongKind,
                "A preview needs an ID token or an access token. Send it as idToken or accessToken."
            )
        }
    }

    private func isIDToken(_ text: String) -> Bool { SignedToken.isIDToken(byForm: text, for: apps.map(\.id)) }

    private func authenticate(
        byIDToken text: String,
        _ credential: CredentialFields,
        _ question: VerificationRequest
    ) async throws(Failure) -> AuthenticationResult {
        // An error in the mapping must be reported before the single-use token is used up.
        _ = try question.fields()
        let (token, _) = try await accepted(
            Secret(text),
            nonce: credential.secret(\.nonce),
            policy: settings.options.nonce,
            question
        )
        return result(try verified(token), singleUse: singleUse(token))
    }

    func singleUse(_ token: AcceptedIDToken) -> SingleUseCredential {
        SingleUseCredential(
            digest: token.digest,
            issuedAt: token.issued,
            seconds: token.end - clock.seconds,
            serverNonce: token.serverNonce
        )
    }

    /// Verifies an ID token.
    ///
    /// The token is never sent to the issuer. At most, the service fetches the issuer's keys.
    func accepted(
        _ text: Secret,
        nonce: Secret?,
        policy: NoncePolicy,
        _ question: VerificationRequest
    ) async throws(Failure) -> (AcceptedIDToken, SignedToken) {
        let audiences = try apps(named: question.appID).map(\.id)
        let token = try SignedToken(text, by: settings.algorithms, namingKey: false)
        let check = IDTokenCheck(
            provider: title,
            issuers: settings.issuers,
            apps: audiences,
            noncePolicy: policy,
            longestAge: settings.options.idTokenSeconds,
            allowsOtherParty: true
        )
        let now = clock.seconds
        let accepted = try await party.keys.verify(token, until: question.deadline) { (key) throws(Failure) in
            let began = ContinuousClock.now
            defer { VerificationTimer.note(since: began) }
            return try check.accept(token, signedBy: key, nonce: nonce, now: now)
        }
        return (accepted, token)
    }

    /// Creates the verified user of an ID token, with further claims that the token lacks.
    func verified(
        _ token: AcceptedIDToken,
        adding claims: JSONObject = [:],
        scopes: [String]? = nil
    ) throws(Failure) -> VerifiedIdentity {
        let known = token.claims
        let all = JSONObject(known.members + claims.members.filter { known[$0.key] == nil })
        return try verified(all, scopes: scopes, credentialExpiresAt: token.expiry)
    }

    /// Creates the verified user of claims (check 14 of docs/security.md#id-tokens).
    ///
    /// - Throws: `credential_invalid`.
    func verified(
        _ claims: JSONObject,
        scopes: [String]? = nil,
        credentialExpiresAt end: Int64?
    ) throws(Failure) -> VerifiedIdentity {
        guard let subject = settings.subject.subject(in: claims) else {
            throw .untrusted("This token of \(title) has no valid subject.", check: 14, "no valid subject")
        }
        return VerifiedIdentity(
            identity: IdentityKey(provider: name, app: .global, subject: subject),
            profile: JSONObject(claims.members.filter { !Self.technical.contains($0.key) }),
            scopes: scopes ?? [],
            scopesAreListed: scopes != nil,
            dataAccessExpiresAt: nil,
            credentialExpiresAt: end,
            providerSession: ProviderSession.hash(claims["sid"]?.string, at: name)
        )
    }

    func result(
        _ verified: VerifiedIdentity,
        token: ProviderToken? = nil,
        singleUse: SingleUseCredential? = nil,
        isRepeatable: Bool = true
    ) -> AuthenticationResult {
        let isConfirmed = settings.options.confirmEmail && settings.trust.confirmsAddress(in: verified.profile)
        return AuthenticationResult(
            verified: verified,
            profile: AdmittedProfile(verified.profile, by: fields),
            confirmedAddress: isConfirmed ? verified.profile["email"]?.string : nil,
            token: token,
            singleUse: singleUse,
            isRepeatable: isRepeatable
        )
    }

    /// Claims that are about the token, and not about the user.
    private static let technical: Set<String> = [
        "iss", "aud", "azp", "exp", "iat", "nbf", "jti", "nonce", "nonce_supported", "at_hash", "c_hash", "s_hash",
        "auth_time", "acr", "amr", "sid", "cnf",
    ]
}

extension SubjectClaims {
    /// Returns the user's id; nil if the claims do not have a valid one.
    func subject(in claims: JSONObject) -> Subject? {
        func text(_ name: String) -> String? { claims[name]?.string }
        let text: String? =
            switch self {
            case .sub: text("sub")
            case .tenantAndObject: text("tid").flatMap { tenant in text("oid").map { "\(tenant):\($0)" } }
            }
        return text.flatMap { Subject($0) }
    }
}
