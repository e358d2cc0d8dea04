import AuthorizationServers
import Crypto
package import Domain
import Encodings
package import Providers
import SignedTokens

// The login dialog, and the exchange of its codes.

extension OpenIDProvider: DialogOffering {
    package var kind: ProviderName { .oidc }
    package var offersDialog: Bool { settings.preset.dialog }
    package var returnURLs: [String] { settings.options.returnURLs }
    package var dialogChallenge: DialogChallenge { .on }

    package func address(of dialog: Dialog, until deadline: ContinuousClock.Instant) async throws(Failure) -> String {
        let document = try await party.discovery(until: deadline)
        guard let endpoint = document.authorizationEndpoint, let challenge = dialog.codeChallenge else {
            throw .unusableConfiguration(cause: "the issuer \(settings.issuer.url) has no authorization_endpoint")
        }
        var further: [(name: StaticString, value: String)] = [("nonce", Self.nonce(ofChallenge: challenge).reveal())]
        if settings.preset.responseMode == .form { further.append(("response_mode", "form_post")) }
        switch dialog.wishes.authType {
        case .reauthenticate: further.append(("prompt", "login"))
        case .rerequest, .reauthorize: further.append(("prompt", "consent"))
        case nil: break
        }
        if let hint = dialog.wishes.loginHint { further.append(("login_hint", hint)) }
        let address = dialog.address(at: endpoint, scopes: settings.scopes, adding: further)
        return settings.offlineParameters.reduce(address) { address, parameter in
            let name = parameter.prefix { $0 != "=" }
            return address.contains("&\(name)=") ? address : "\(address)&\(parameter)"
        }
    }

    package func check(_ wishes: DialogParameters) throws(Failure) {
        guard offersDialog else {
            throw Failure(
                .notOffered,
                "Logins with \(title) through the server are not offered. Log in by its SDK, and send the ID token."
            )
        }
        try wishes.check(needed: "openid", at: title)
    }

    package func failure(in answer: DialogAnswer) -> Failure? {
        // Another issuer would answer with another `iss` (RFC 9207 §2.4).
        if let issuer = answer.filled("iss"), !issuer.hasSameBytes(as: settings.issuer.url),
            !settings.issuer.url.contains(IssuerRule.tenant)
        {
            return wrongIssuer
        }
        return party.server.failure(in: answer)
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
            guard code.answer?.filled("iss") != nil || !document.namesIssuer else { throw wrongIssuer }
            return .authenticated(
                try await exchange(
                    code,
                    nonce: challenge.map(Self.nonce),
                    policy: .clientMade,
                    question,
                    claim: claim
                )
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

    /// Exchanges an authorization code for an ID token, and verifies the token.
    func exchange(
        _ code: DialogCode,
        nonce: Secret?,
        policy: NoncePolicy,
        _ question: VerificationRequest,
        claim: (_ hash: [UInt8], _ seconds: Int64) async throws(Failure) -> Bool
    ) async throws(Failure) -> AuthenticationResult {
        _ = try question.fields()
        let (app, deadline) = (try app(named: question.appID), question.deadline)
        let document = try await party.discovery(until: deadline)
        let tokens = try await endpoint(by: document).exchange(
            code,
            as: credentials(of: app, by: document),
            until: deadline,
            claim: claim
        )
        guard let idToken = tokens.idToken else {
            throw .badReply(
                party.server.service,
                cause: "\(party.server.service.api): the token response has no id_token"
            )
        }
        let (token, signed) = try await accepted(
            idToken,
            nonce: nonce,
            policy: policy,
            VerificationRequest(appID: app.id.text, deadline: deadline, fields: question.fields)
        )
        try signed.checkHash("c_hash", of: code.code.reveal(), in: token.claims)
        if let accessToken = tokens.accessToken {
            try signed.checkHash("at_hash", of: accessToken.reveal(), in: token.claims)
        }
        var further = settings.preset.namesFirstUser ? FirstUser.claims(in: code.answer) : [:]
        if settings.options.userinfo, let accessToken = tokens.accessToken {
            let claims = try await claims(
                of: token.claims["sub"]?.string,
                by: accessToken,
                for: app.id,
                document,
                until: deadline
            )
            further = JSONObject(further.members + claims.members.filter { further[$0.key] == nil })
        }
        let kept =
            settings.options.keepTokens
            ? KeptGrant(tokens, of: app.id, keepsAccessTokens: false, now: clock.seconds) : nil
        return result(
            try verified(token, adding: further, scopes: tokens.scopes),
            token: kept?.kept,
            singleUse: token.serverNonce == nil ? nil : singleUse(token),
            isRepeatable: false
        )
    }

    func endpoint(by document: Discovery) throws(Failure) -> TokenEndpoint {
        guard let url = document.tokenEndpoint else {
            throw .unusableConfiguration(cause: "the issuer \(settings.issuer.url) has no token_endpoint")
        }
        return TokenEndpoint(of: party.server, at: url)
    }

    /// Returns the credentials of a client; a secret that a key signs is made anew.
    func credentials(of app: ProviderApp, by document: Discovery) throws(Failure) -> ClientCredentials {
        if let key = settings.signingKey {
            let secret = try key.secret(of: app.id, at: settings.issuer.url, now: clock.seconds)
            return ClientCredentials(id: app.id, secret: secret, by: .form)
        }
        let secret = app.secret.byteCount == 0 ? nil : app.secret
        return ClientCredentials(
            id: app.id,
            secret: secret,
            by: settings.preset.authentication ?? document.authentication
        )
    }
}
