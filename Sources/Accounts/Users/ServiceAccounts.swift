package import Applications
package import Domain
package import Encodings
import Secrets
import SignedTokens
import Store

/// Recognizes backends by their service accounts, and gives them access tokens (RFC 7523).
///
/// An access token is an encrypted text that names the key of the account. Each use looks the key up, so the token of a
/// withdrawn account is invalid at once. No signed token of this service has the same form.
package struct ServiceAccounts: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let masterKeys: MasterKeys
    let address: PublicAddress
    let clock: WallClock

    /// The lifetime of an access token in seconds, and the maximum lifetime of a token that a service account signs.
    package static let seconds: Int64 = 3600
    /// How far the clock of a backend may be ahead, in seconds.
    private static let skew: Int64 = 60
    /// The beginning of an access token, by which scanners for leaked secrets find it.
    private static let prefix = "fedsa_"

    /// Exchanges an assertion for an access token (RFC 7523 §2.1).
    ///
    /// - Parameters:
    ///   - assertion: A JWT that the service account has signed about itself, valid for an hour at most.
    ///   - audience: A further audience that the assertion may have, beside the address of this service.
    /// - Returns: The access token.
    /// - Throws: `credential_invalid`; `store_unavailable` and similar errors.
    package func accessToken(for assertion: Secret, orSentTo audience: String) async throws(Failure) -> Secret {
        guard let (account, claims) = try await signed(assertion) else { throw Self.refused("no such signature") }
        let own = address.url.map { $0 + PublicAddress.serviceTokenPath }
        let accepted = [own, audience].compactMap(\.self)
        guard let given = claims["aud"]?.string, accepted.contains(where: { $0.hasSameBytes(as: given) }) else {
            throw Self.refused("another audience")
        }
        // A service account acts for nobody else (RFC 7523 §3).
        guard claims["sub"]?.string.map({ $0.hasSameBytes(as: account.email) }) ?? (claims["sub"] == nil) else {
            throw Self.refused("another subject")
        }
        guard isCurrent(claims) else { throw Self.refused("not current") }
        let access = AccessToken(key: account.id, endsAt: clock.seconds + Self.seconds)
        return Secret(Self.prefix + Base64URL.encode(access.encrypted(under: masterKeys, for: nil)))
    }

    /// Returns the service account of an access token, and its application.
    ///
    /// - Throws: `operator_token_invalid`; `store_unavailable` and similar errors.
    package func account(
        byAccessToken text: String
    ) async throws(Failure) -> (account: ServiceAccount, application: LoadedApplication) {
        guard text.utf8.count <= 512, text.hasPrefix(Self.prefix),
            let bytes = Base64URL.decode(text.utf8.dropFirst(Self.prefix.utf8.count)),
            let access = AccessToken(encrypted: bytes, under: masterKeys, for: nil, now: clock.seconds),
            let account = try await store.serviceAccount(key: access.key)
        else {
            throw Failure(
                .operatorTokenInvalid,
                """
                This is not a valid access token of a service account. The token may have expired, or the account may \
                have been withdrawn. Get a new token from \(PublicAddress.serviceTokenPath).
                """
            )
        }
        return (account, try directory.application(id: account.application.text[...]))
    }

    /// Verifies a JWT that a service account has signed by RS256.
    ///
    /// Only the issuer and the signature are verified: the caller checks the other claims.
    ///
    /// - Returns: The account and the claims; nil for a text that no service account has signed.
    /// - Throws: `store_unavailable` and similar errors.
    package func signed(_ token: Secret) async throws(Failure) -> (account: ServiceAccount, claims: JSONObject)? {
        // Some of the SDKs leave out the id of the key.
        guard let token = try? SignedToken(token, by: [.rs256], namingKey: false), let issuer = token.namedIssuer,
            issuer.utf8.count <= 254, let account = try await store.serviceAccount(email: issuer),
            token.keyID.isEmpty || token.keyID.hasSameBytes(as: account.id),
            let claims = SigningKey(jwk: account.publicKey).flatMap({ try? token.claims(signedBy: $0) })
        else { return nil }
        return (account, claims)
    }

    /// Returns whether claims of a service account are valid now, and not for longer than an hour.
    package func isCurrent(_ claims: JSONObject) -> Bool {
        let now = clock.seconds
        guard let issued = claims["iat"]?.integer, let end = claims["exp"]?.integer,
            (now - Self.seconds - Self.skew...now + Self.skew).contains(issued),
            end > now, end <= issued + Self.seconds + Self.skew
        else { return false }
        guard let start = claims["nbf"] else { return true }
        return start.integer.map { $0 <= now + Self.skew } ?? false
    }

    private static func refused(_ cause: String) -> Failure {
        Failure(
            .credentialInvalid,
            """
            This assertion is not valid. A service account of this service must sign the assertion for the token_uri \
            of its key file, for an hour at most. Check the key file and the clock of your backend.
            """,
            cause: "assertion of a service account: \(cause)"
        )
    }
}

/// The content of an access token of a service account.
private struct AccessToken: EncryptedInTransit {
    static let keyName = "federation: access tokens of service accounts"

    /// The id of the account's key.
    let key: String
    let endsAt: Int64

    init(key: String, endsAt: Int64) { (self.key, self.endsAt) = (key, endsAt) }

    var text: Secret { Secret(JSONValue.object(["key": .string(key), "end": .integer(endsAt)]).text) }

    init?(_ object: JSONObject) {
        guard let key = object["key"]?.string, let end = object["end"]?.integer else { return nil }
        self.init(key: key, endsAt: end)
    }
}
