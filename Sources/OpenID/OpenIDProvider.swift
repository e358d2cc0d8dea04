import Crypto
import Curl
package import Domain
import Encodings
package import Mapping
package import Providers
import SignedTokens

/// A provider of the kind OpenID Connect, as one application has configured it.
package struct OpenIDProvider: Provider {
    package let name: ProviderName
    let application: ApplicationID
    package let isEnabled: Bool
    package let apps: [ProviderApp]
    let settings: OpenIDSettings
    let party: IssuerParty
    let clock: WallClock

    package var title: String { settings.title }
    package var fields: ProfileFields { .openID }

    /// The client ids for which a token may have been issued.
    ///
    /// - Throws: `provider_not_configured` if the client names an id that the application does not have.
    private func audiences(named id: String?) throws(Failure) -> [ProviderAppID] {
        let all = apps.map(\.id) + settings.clientIDs
        guard let id else { return all }
        let named = all.filter { $0.text.hasSameBytes(as: id) }
        guard !named.isEmpty else {
            throw Failure(.providerNotConfigured, "appId is not one of this application's client ids of \(title).")
        }
        return named
    }
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
            // Some SDKs send the ID token in this member. An access token shows nobody for whom it was issued.
            guard SignedToken.hasForm(of: text) else {
                throw Failure(
                    .credentialWrongKind,
                    "\(title) needs an ID token, which has three parts separated by dots. Send it as idToken."
                )
            }
            return try await authenticate(byIDToken: text, credential, question)
        case .code(let code, let redirectURI):
            guard settings.options.redirectURIs.contains(where: { $0.hasSameBytes(as: redirectURI) }) else {
                throw Failure(
                    .credentialInvalid,
                    """
                    redirectUri is not allowed for this application. It must match an allowed URI byte for byte. The \
                    operator can add it to the option redirectUris of the provider.
                    """
                )
            }
            return try await exchange(
                DialogCode(code: code, redirectURI: redirectURI, codeVerifier: credential.secret(\.codeVerifier)),
                nonce: credential.secret(\.nonce),
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
        case .idToken(let text), .accessToken(let text):
            _ = try question.fields()
            let nonce = credential.secret(\.nonce)
            return try await verified(Secret(text), nonce: nonce, policy: .clientMade, question).verified
        case .code, .loginCode:
            throw Failure(.credentialWrongKind, "A preview needs an ID token. Send it as idToken.")
        }
    }

    private func authenticate(
        byIDToken text: String,
        _ credential: CredentialFields,
        _ question: VerificationRequest
    ) async throws(Failure) -> AuthenticationResult {
        // An error in the mapping must be reported before the single-use token is used up.
        _ = try question.fields()
        let nonce = credential.secret(\.nonce)
        let (verified, token) = try await verified(
            Secret(text),
            nonce: nonce,
            policy: settings.options.nonce,
            question
        )
        return AuthenticationResult(
            verified: verified,
            profile: AdmittedProfile(verified.profile, by: fields),
            singleUse: SingleUseCredential(
                digest: token.digest,
                issuedAt: token.issued,
                seconds: token.end - clock.seconds,
                serverNonce: token.serverNonce
            )
        )
    }

    /// Verifies an ID token.
    ///
    /// The token is never sent to the issuer. At most, the service fetches the issuer's keys.
    private func verified(
        _ text: Secret,
        nonce: Secret?,
        policy: NoncePolicy,
        _ question: VerificationRequest,
        accessToken: String? = nil
    ) async throws(Failure) -> (verified: VerifiedIdentity, token: AcceptedIDToken) {
        let audiences = try audiences(named: question.appID)
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
        if let accessToken { try token.checkHash("at_hash", of: accessToken, in: accepted.claims) }
        return (try VerifiedIdentity(accepted, of: name, by: settings.subject, at: title), accepted)
    }
}

// MARK: - Dialog

extension OpenIDProvider: DialogOffering {
    package var kind: ProviderName { .oidc }
    package var returnURLs: [String] { settings.options.returnURLs }
    package var dialogChallenge: DialogChallenge { .on }

    package func address(of dialog: Dialog, until deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        let document = try await party.discovery(until: deadline)
        guard let endpoint = document.authorizationEndpoint, let challenge = dialog.codeChallenge else {
            throw .unusableConfiguration(cause: "the issuer \(settings.issuer.url) has no authorization_endpoint")
        }
        guard !settings.answersByForm else {
            throw .unusableConfiguration(cause: "the dialog of \(title) answers by a form, which is not offered yet")
        }
        var query = Parameters()
        query.add("response_type", "code")
        query.add("client_id", dialog.app.id.text)
        query.add("redirect_uri", dialog.redirectURI)
        query.add("scope", (dialog.wishes.permissions ?? settings.scopes).joined(separator: " "))
        query.add("state", dialog.state.reveal())
        query.add("nonce", Self.nonce(ofChallenge: challenge).reveal())
        query.add("code_challenge", challenge)
        query.add("code_challenge_method", "S256")
        if dialog.wishes.authType == .reauthenticate { query.add("prompt", "login") }
        if dialog.wishes.authType == .rerequest { query.add("prompt", "consent") }
        return endpoint.adding(query: query.text)
    }

    package func check(_ wishes: DialogParameters) throws(Failure) {
        guard wishes.configID == nil else {
            throw Failure(.malformedRequest, "configId is not a parameter of \(title)'s dialog.")
        }
        guard let scopes = wishes.permissions else { return }
        let areScopes = scopes.allSatisfy { scope in
            (1...100).contains(scope.utf8.count)
                && scope.utf8.allSatisfy { (0x21...0x7E).contains($0) && !$0.isOne(of: #""\"#) }
        }
        guard areScopes, scopes.contains(where: { $0.hasSameBytes(as: "openid") }) else {
            throw Failure(.malformedRequest, "permissions must be scopes of \(title), openid among them.")
        }
    }

    package func failure(in answer: DialogAnswer) -> Failure? {
        // Another issuer would answer with another `iss` (RFC 9207 §2.4).
        if let issuer = answer.filled("iss"), !issuer.hasSameBytes(as: settings.issuer.url),
            !settings.issuer.url.contains(IssuerRule.tenant)
        {
            return wrongIssuer
        }
        guard let error = answer.filled("error") else { return nil }
        switch error {
        case "access_denied":
            return Failure(.loginCancelled, "The login with \(title) was cancelled. Nothing has changed.")
        case "server_error", "temporarily_unavailable":
            return .unavailable(party.service, cause: "the dialog said so")
        case "login_required", "consent_required", "interaction_required", "account_selection_required":
            return Failure(.userActionRequired, "\(title) needs an action of the user. Start the login again.")
        default:
            return Failure(
                .providerMisconfigured,
                "\(title) refuses the login dialog of this app. The operator must check the client's settings.",
                retryAfter: 60,
                cause: "the dialog refused the client"
            )
        }
    }

    private var wrongIssuer: Failure {
        Failure(
            .loginStateInvalid,
            "This login was answered by another issuer than \(title). Start the login again.",
            cause: "iss of the redirect is absent or another issuer"
        )
    }

    package func declinedScopes(in answer: DialogAnswer) -> [String]? { nil }

    package func finish(
        _ code: DialogCode,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> FinishedDialog {
        let challenge = code.codeVerifier.map { Base64URL.encode(Array(SHA256.hash(data: Array($0.reveal().utf8)))) }
        do throws(Failure) {
            // `failure(in:)` has refused another issuer. One that promises to name itself must do so.
            let document = try await party.discovery(until: question.deadline)
            guard code.issuer != nil || !document.namesIssuer else { throw wrongIssuer }
            return .authenticated(
                try await exchange(code, nonce: challenge.map(Self.nonce), question, claim: claim)
            )
        } catch {
            throw error.startingOver(at: title)
        }
    }

    /// The nonce of a dialog that this service opens.
    ///
    /// It follows from the PKCE challenge, so the token must be of the dialog that the code verifier belongs to.
    private static func nonce(ofChallenge challenge: String) -> Secret {
        Secret(Base64URL.encode(Array(SHA256.hash(data: Array("nonce \(challenge)".utf8)))))
    }

    /// The seconds for which the service refuses a code that was used.
    private static let codeSeconds: Int64 = 3600

    /// Exchanges an authorization code for an ID token, and verifies the token.
    ///
    /// The code is accepted only once in all instances together, whatever the outcome (decision D13).
    private func exchange(
        _ code: DialogCode,
        nonce: Secret?,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        _ = try question.fields()
        let app = try app(named: question.appID)
        guard let endpoint = try await party.discovery(until: question.deadline).tokenEndpoint else {
            throw .unusableConfiguration(cause: "the issuer \(settings.issuer.url) has no token_endpoint")
        }
        guard try await claim(Array(SHA256.hash(data: Array(code.code.reveal().utf8))), Self.codeSeconds) else {
            throw .usedCode(of: title, cause: "an authorization code came again")
        }
        var form = Parameters()
        form.add("grant_type", "authorization_code")
        form.add("code", code.code.reveal())
        form.add("redirect_uri", code.redirectURI)
        if let verifier = code.codeVerifier { form.add("code_verifier", verifier.reveal()) }
        let (status, reply) = try await party.post(form, as: app, to: endpoint)
        guard status == 200 else { throw refusal(status, reply) }
        guard let text = reply["id_token"]?.string else {
            throw .badReply(party.service, cause: "\(party.service.api): the token response has no id_token")
        }
        let (verified, _) = try await self.verified(
            Secret(text),
            nonce: nonce,
            policy: .clientMade,
            VerificationRequest(appID: app.id.text, deadline: question.deadline, fields: question.fields),
            accessToken: reply["access_token"]?.string
        )
        return AuthenticationResult(
            verified: verified,
            profile: AdmittedProfile(verified.profile, by: fields),
            isRepeatable: false
        )
    }

    /// Returns the failure for an error of the token endpoint (RFC 6749 §5.2).
    private func refusal(_ status: Int, _ reply: JSONObject) -> Failure {
        let known = ["invalid_grant", "invalid_client", "unauthorized_client", "invalid_request", "invalid_scope"]
        let error = known.first { reply["error"]?.string?.hasSameBytes(as: $0) == true }
        let cause = "\(party.service.api): the token endpoint answered \(status), \(error ?? "no known error")"
        switch error {
        case "invalid_grant":
            return Failure(
                .credentialInvalid,
                "\(title) does not accept this authorization code. It is single-use. Log in again.",
                cause: cause
            )
        default:
            return Failure(
                .providerMisconfigured,
                "\(title) refuses this app. The operator must check its client id and secret.",
                retryAfter: 60,
                cause: cause
            )
        }
    }
}

extension VerifiedIdentity {
    /// Creates the verified user of an ID token (check 14 of docs/security.md#id-tokens).
    ///
    /// - Throws: `credential_invalid`.
    init(
        _ token: AcceptedIDToken,
        of provider: ProviderName,
        by claims: SubjectClaims,
        at title: String
    ) throws(Failure) {
        func text(_ name: String) -> String? { token.claims[name]?.string }
        let text: String? =
            switch claims {
            case .sub: text("sub")
            case .tenantAndObject: text("tid").flatMap { tenant in text("oid").map { "\(tenant):\($0)" } }
            }
        guard let subject = text.flatMap({ Subject($0) }) else {
            throw .untrusted("This ID token of \(title) has no valid subject.", check: 14, "no valid subject")
        }
        self.init(
            identity: IdentityKey(provider: provider, app: .global, subject: subject),
            profile: JSONObject(token.claims.members.filter { !Self.technical.contains($0.key) }),
            scopes: [],
            scopesAreListed: false,
            dataAccessExpiresAt: nil,
            credentialExpiresAt: token.expiry
        )
    }

    /// Claims that are about the token, and not about the user.
    private static let technical: Set<String> = [
        "iss", "aud", "azp", "exp", "iat", "nbf", "jti", "nonce", "nonce_supported", "at_hash", "c_hash", "s_hash",
        "auth_time", "acr", "amr", "sid", "cnf",
    ]
}
