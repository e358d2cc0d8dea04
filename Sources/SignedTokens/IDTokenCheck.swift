package import Vocabulary

/// Decision D3: what an ID token must be to count; the steps are numbered as in docs/security.md#id-tokens.
///
/// Steps 0, 1, 7 and 8 are those of `SignedToken` and `SigningKey`, step 14 (`sub`) is the provider's. Step 12 (`acr`)
/// asks for nothing, step 13 (`auth_time`) is for those who want a recent authentication of somebody who is logged in
/// already. Step 15, the single use, belongs to the write.
package struct IDTokenCheck: Sendable {
    /// The provider's name for people.
    let provider: String
    /// The exact texts of `iss` that are taken.
    let issuers: [String]
    /// The apps that the token may be for, all of one application.
    let apps: [ProviderAppID]
    let noncePolicy: NoncePolicy
    /// Seconds after its issue at which a token is no longer taken.
    let longestAge: Int64

    /// By how many seconds the provider's clock and ours may differ.
    static let tolerance: Int64 = 60

    package init(
        provider: String,
        issuers: [String],
        apps: [ProviderAppID],
        noncePolicy: NoncePolicy,
        longestAge: Int64
    ) {
        self.provider = provider
        self.issuers = issuers
        self.apps = apps
        self.noncePolicy = noncePolicy
        self.longestAge = longestAge
    }

    /// Judges a token.
    ///
    /// - Parameters:
    ///   - token: The token as it arrived.
    ///   - key: The key that it names.
    ///   - nonce: The nonce of the request, if it has one.
    ///   - now: Unix seconds.
    /// - Returns: What it says, and what is left to be checked.
    /// - Throws: `credential_invalid`, `credential_expired`.
    package func accept(
        _ token: SignedToken,
        signedBy key: SigningKey,
        nonce: Secret?,
        now: Int64
    ) throws(Failure) -> AcceptedIDToken {
        let claims = try token.claims(signedBy: key)
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

    /// Step 2: `iss` is one of the configured texts, byte for byte.
    private func checkIssuer(_ claims: JSONObject) throws(Failure) {
        guard let issuer = claims["iss"]?.string, issuers.contains(where: { $0.hasSameBytes(as: issuer) }) else {
            throw .untrusted("This ID token was not issued by \(provider).", check: 2, "iss is none of ours")
        }
    }

    /// Step 3: `aud` names an app of ours, and nothing that we do not know.
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
                "This ID token was made for another \(provider) app. Log in with the app id of this application.",
                check: 3,
                "aud names none of the application's apps, or others besides"
            )
        }
        return audiences
    }

    /// Steps 4 and 5: several audiences need an `azp`, and an `azp` is one of the audiences.
    ///
    /// It names the app whose subject this is.
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
        guard let app = audiences.first(where: { $0.text.hasSameBytes(as: party.string ?? "") }) else {
            throw .untrusted(ambiguousApp, check: 5, "azp is not the audience")
        }
        return app
    }

    /// Step 9: `exp` lies ahead.
    private func expiry(_ claims: JSONObject, now: Int64) throws(Failure) -> Int64 {
        let expiry = try time("exp", in: claims, check: 9)
        guard expiry + Self.tolerance > now else { throw expired(check: 9, "exp has passed") }
        return expiry
    }

    /// Step 10: `iat` has passed, not too long ago; so has `nbf` if there is one.
    private func issueTime(_ claims: JSONObject, now: Int64) throws(Failure) -> Int64 {
        let issued = try time("iat", in: claims, check: 10)
        let start = claims["nbf"] == nil ? issued : max(issued, try time("nbf", in: claims, check: 10))
        guard start <= now + Self.tolerance else {
            throw .untrusted(
                "This ID token is not valid yet. If it is fresh, a clock is wrong.",
                check: 10,
                "iat or nbf lies ahead of our clock"
            )
        }
        guard now - issued <= longestAge else { throw expired(check: 10, "issued too long ago") }
        return issued
    }

    /// A moment in Unix seconds, written as an integer, in the years 1970 to 9999: sums of such cannot overflow.
    private func time(_ name: String, in claims: JSONObject, check: Int) throws(Failure) -> Int64 {
        guard let time = claims[name]?.integer, (0...253_402_300_799).contains(time) else {
            throw .untrusted(
                "This ID token does not say from when to when it is valid.",
                check: check,
                "\(name) is no time in whole seconds"
            )
        }
        return time
    }

    private var ambiguousApp: String {
        "This ID token does not say clearly for which \(provider) app it was made."
    }

    private func expired(check: Int, _ cause: String) -> Failure {
        Failure(
            .credentialExpired,
            "The ID token has expired. Log in with \(provider) again.",
            cause: "ID token, check \(check): \(cause)"
        )
    }
}

/// An ID token that counts unless it has been used before.
package struct AcceptedIDToken: Sendable {
    package let claims: JSONObject
    /// The app that it was made for.
    package let app: ProviderAppID
    /// Unix seconds at which it ends by its own word.
    package let expiry: Int64
    /// SHA-256 of what was signed.
    package let digest: [UInt8]
    /// Unix seconds at which the provider issued it.
    package let issued: Int64
    /// Unix seconds from which on it is refused for its age.
    package let end: Int64
    /// What must turn out to be a nonce that we gave out; nil when the policy does not ask for one.
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
