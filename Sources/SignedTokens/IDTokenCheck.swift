package import Domain
package import Encodings

/// Checks whether an ID token is valid for a login (decision D3).
///
/// The steps have the numbers of docs/security.md#id-tokens.
///
/// `SignedToken` and `SigningKey` do steps 0, 1, 6, 7 and 8. The provider does step 14 (`sub`). Step 12 (`acr`) checks
/// nothing. Step 13 (`auth_time`) is only for callers that require a recent authentication of a user. The database
/// write does step 15, the single use.
package struct IDTokenCheck: Sendable {
    /// The display name of the provider.
    let provider: String
    /// The accepted values of the claim `iss`, which names the issuer of the token.
    ///
    /// In a value, `{tenantid}` stands for the token's claim `tid`, as in Microsoft's discovery document.
    let issuers: [String]
    /// The apps that are accepted as the audience (`aud`) of a token.
    ///
    /// All are apps of one application.
    let apps: [ProviderAppID]
    let noncePolicy: NoncePolicy
    /// The seconds from the issue of a token until the service refuses it.
    let longestAge: Int64
    /// Whether `azp` may be another of the application's apps than the audiences.
    ///
    /// So it is in a token that one app of an application got for another one, such as a mobile app for its server.
    let allowsOtherParty: Bool

    /// The number of seconds by which the provider's clock and the service's clock may differ.
    static let tolerance: Int64 = 60

    package init(
        provider: String,
        issuers: [String],
        apps: [ProviderAppID],
        noncePolicy: NoncePolicy,
        longestAge: Int64,
        allowsOtherParty: Bool = false
    ) {
        self.provider = provider
        self.issuers = issuers
        self.apps = apps
        self.noncePolicy = noncePolicy
        self.longestAge = longestAge
        self.allowsOtherParty = allowsOtherParty
    }

    /// Checks the claims of an ID token and its signature.
    ///
    /// - Parameters:
    ///   - token: The token as received.
    ///   - key: The public key whose id the token names.
    ///   - nonce: The nonce of the request, if it has one.
    ///   - now: The current time in Unix seconds.
    /// - Returns: The claims, and the values for the remaining checks.
    /// - Throws: `credential_invalid`, `credential_expired`.
    package func accept(
        _ token: SignedToken,
        signedBy key: SigningKey,
        nonce: Secret?,
        now: Int64
    ) throws(Failure) -> AcceptedIDToken {
        let claims = try token.claims(signedBy: key)
        // A logout token may have all claims of an ID token (RFC 8725 §3.11).
        guard claims["events"] == nil else {
            throw .untrusted("This is no ID token, but an event of \(provider).", check: 7, "the claims have events")
        }
        guard !claims.isOfAccessToken else {
            throw .untrusted(
                "This is no ID token, but an access token of \(provider). Send it as accessToken.",
                check: 7,
                "the claims are those of an access token"
            )
        }
        try checkIssuer(claims)
        let app = try authorizedParty(claims, among: try audiences(claims))
        let expiry = try expiry(claims, now: now)
        let issued = try issueTime(claims, now: now)
        let serverNonce = try checkNonce(claims, given: nonce)
        return AcceptedIDToken(
            claims: claims,
            app: app,
            expiry: expiry,
            digest: Array(token.digest),
            issued: issued,
            end: min(expiry + Self.tolerance, issued + longestAge + 1),
            serverNonce: serverNonce
        )
    }

    /// Checks step 2: `iss` equals one of the configured texts byte for byte.
    private func checkIssuer(_ claims: JSONObject) throws(Failure) {
        guard issuers.contains(where: { claims.isIssued(by: $0) }) else {
            throw .untrusted("This ID token was not issued by \(provider).", check: 2, "iss is none of ours")
        }
    }

    /// Checks step 3: `aud` names at least one of the application's apps, and no other app.
    private func audiences(_ claims: JSONObject) throws(Failure) -> [ProviderAppID] {
        var names: [JSONValue] = []
        switch claims["aud"] {
        case .string(let name): names = [.string(name)]
        case .array(let list): names = list
        default: break
        }
        let audiences = names.compactMap { name in apps.first { $0.text.hasSameBytes(as: name.string ?? "") } }
        guard !audiences.isEmpty, audiences.count == names.count else {
            throw .untrusted(
                "This ID token was issued for another \(provider) app. Log in with the app id of this application.",
                check: 3,
                "aud names none of the application's apps, or others besides"
            )
        }
        return audiences
    }

    /// Checks steps 4 and 5: a token with several audiences must have the claim `azp`, and any `azp` must be one of the
    /// audiences.
    ///
    /// - Returns: The app that the token was issued for: `azp`, or else the only audience.
    private func authorizedParty(
        _ claims: JSONObject,
        among audiences: [ProviderAppID]
    ) throws(Failure) -> ProviderAppID {
        guard let party = claims["azp"] else {
            guard audiences.count == 1 else {
                throw .untrusted(ambiguousApp, check: 4, "several audiences without azp")
            }
            return audiences[0]
        }
        let parties = allowsOtherParty ? apps : audiences
        guard let app = parties.first(where: { $0.text.hasSameBytes(as: party.string ?? "") }) else {
            throw .untrusted(ambiguousApp, check: 5, "azp is not the audience")
        }
        return app
    }

    /// Checks step 9: `exp` has not passed, within the tolerance.
    private func expiry(_ claims: JSONObject, now: Int64) throws(Failure) -> Int64 {
        let expiry = try time("exp", in: claims, check: 9)
        guard expiry + Self.tolerance > now else { throw expired(check: 9, "exp has passed") }
        return expiry
    }

    /// Checks step 10: `iat` is not in the future, within the tolerance, and not too long ago.
    ///
    /// If `nbf` is present, it is not in the future either.
    private func issueTime(_ claims: JSONObject, now: Int64) throws(Failure) -> Int64 {
        let issued = try time("iat", in: claims, check: 10)
        let start = claims["nbf"] == nil ? issued : max(issued, try time("nbf", in: claims, check: 10))
        guard start <= now + Self.tolerance else {
            throw .untrusted(
                "This ID token is not valid yet. If it is new, check the clocks of the device and the server.",
                check: 10,
                "iat or nbf lies ahead of our clock"
            )
        }
        guard now - issued <= longestAge else { throw expired(check: 10, "issued too long ago") }
        return issued
    }

    /// Returns a claim that is an integer in Unix seconds.
    private func time(_ name: String, in claims: JSONObject, check: Int) throws(Failure) -> Int64 {
        guard let time = claims.time(name) else {
            throw .untrusted(
                "This ID token has no valid times of issue and expiry.",
                check: check,
                "\(name) is no time in whole seconds"
            )
        }
        return time
    }

    private var ambiguousApp: String {
        "The audience of this ID token does not name one \(provider) app."
    }

    private func expired(check: Int, _ cause: String) -> Failure {
        Failure(
            .credentialExpired,
            "The ID token has expired. Log in with \(provider) again.",
            cause: "ID token, check \(check): \(cause)"
        )
    }
}

/// An ID token that has passed all checks except those of its subject and its single use.
package struct AcceptedIDToken: Sendable {
    package let claims: JSONObject
    /// The app that the token was issued for.
    package let app: ProviderAppID
    /// The `exp` of the token in Unix seconds.
    package let expiry: Int64
    /// The SHA-256 of the token's signed bytes.
    package let digest: [UInt8]
    /// The time, in Unix seconds, at which the provider issued the token.
    package let issued: Int64
    /// The time, in Unix seconds, from which the service refuses the token because it has expired or is too old.
    package let end: Int64
    /// The nonce, if the policy accepts only nonces that this service issued; nil otherwise.
    package let serverNonce: Secret?

    package init(
        claims: JSONObject,
        app: ProviderAppID,
        expiry: Int64,
        digest: [UInt8],
        issued: Int64,
        end: Int64,
        serverNonce: Secret?
    ) {
        self.claims = claims
        self.app = app
        self.expiry = expiry
        self.digest = digest
        self.issued = issued
        self.end = end
        self.serverNonce = serverNonce
    }
}
