import Applications
import Domain
package import Encodings
import Mapping
package import Providers

/// A login that the provider has verified.
///
/// The service keeps it until the client exchanges the login code or sends a second factor.
package struct VerifiedLogin: Sendable {
    package let result: AuthenticationResult
    /// The client's mapping from the beginning of the login.
    package let mapping: JSONValue?
    /// The PKCE challenge that the client sent.
    ///
    /// With the login code, the client must send the verifier that fits the challenge.
    let codeChallenge: String?
    /// The second factor that the user presented after the dialog; nil if none was required.
    let factor: VerifiedFactor?
    /// The invitation that a new user presents.
    let invitation: InvitationToken?

    init(
        result: AuthenticationResult,
        mapping: JSONValue?,
        codeChallenge: String?,
        factor: VerifiedFactor? = nil,
        invitation: InvitationToken?
    ) {
        self.result = result
        self.mapping = mapping
        self.codeChallenge = codeChallenge
        self.factor = factor
        self.invitation = invitation
    }
}

// Encoding for encryption.
extension VerifiedLogin {
    private enum Key {
        static let (provider, appID, subject, profile, scopes) = ("provider", "app", "subject", "profile", "scopes")
        static let (declined, dataAccessEnd, tokenEnd) = ("declined", "dataAccessExpires", "tokenExpires")
        static let (token, tokenKind, unlisted) = ("token", "tokenKind", "unlistedScopes")
        static let (mapping, codeChallenge, factor) = ("mapping", "codeChallenge", "factor")
        static let (invitation, confirmedAddress) = ("invitation", "confirmedAddress")
        static let providerSession = "providerSession"
    }

    var text: Secret {
        let verified = result.verified
        var object: JSONObject = [
            Key.provider: .string(verified.identity.provider.text),
            Key.appID: .string(verified.identity.app.text), Key.subject: .string(verified.identity.subject.text),
            Key.profile: result.profile.json, Key.scopes: .array(verified.scopes.map(JSONValue.string)),
        ]
        if let declined = verified.declinedScopes {
            object.append(Key.declined, .array(declined.map(JSONValue.string)))
        }
        if let end = verified.dataAccessExpiresAt { object.append(Key.dataAccessEnd, .integer(end)) }
        if let end = verified.credentialExpiresAt { object.append(Key.tokenEnd, .integer(end)) }
        if let session = verified.providerSession {
            object.append(Key.providerSession, .string(Base64URL.encode(session)))
        }
        if !verified.scopesAreListed { object.append(Key.unlisted, .bool(true)) }
        if let token = result.token {
            object.append(Key.token, .string(token.text.reveal()))
            object.append(Key.tokenKind, .string(token.kind.rawValue))
        }
        if let address = result.confirmedAddress { object.append(Key.confirmedAddress, .string(address)) }
        if let mapping { object.append(Key.mapping, mapping) }
        if let codeChallenge { object.append(Key.codeChallenge, .string(codeChallenge)) }
        if let factor { object.append(Key.factor, .object(factor.object)) }
        if let invitation { object.append(Key.invitation, .string(invitation.hashText)) }
        return Secret(JSONValue.object(object).text)
    }

    /// Reads an encoded login.
    ///
    /// Returns nil if another version wrote the text, or if the login is by another provider.
    init?(_ text: Secret, provider: ProviderName) {
        guard let object = try? JSONParser.parse(text.reveal(), limits: .stored).object,
            object[Key.provider]?.string?.hasSameBytes(as: provider.text) == true,
            let appID = object[Key.appID]?.string.flatMap(ProviderAppID.init),
            let subject = object[Key.subject]?.string.flatMap({ Subject($0) }),
            let profile = object[Key.profile].flatMap(AdmittedProfile.init), let scopes = object[Key.scopes]?.array,
            // Codes of a version that did not write the kind may still be valid, for at most a minute.
            let tokenKind = ProviderToken.Kind(
                rawValue: object[Key.tokenKind]?.string ?? ProviderToken.Kind.access.rawValue
            )
        else { return nil }
        let verified = VerifiedIdentity(
            identity: IdentityKey(provider: provider, app: appID, subject: subject),
            profile: profile.fields,
            scopes: scopes.compactMap(\.string),
            scopesAreListed: object[Key.unlisted] == nil,
            declinedScopes: object[Key.declined]?.array?.compactMap(\.string),
            dataAccessExpiresAt: object[Key.dataAccessEnd]?.integer,
            credentialExpiresAt: object[Key.tokenEnd]?.integer,
            providerSession: object[Key.providerSession]?.string.flatMap { Base64URL.decode($0.utf8) }
        )
        let token = object[Key.token]?.string.map { text in
            // A refresh token outlives the credential of the login.
            let end = tokenKind == .refresh ? nil : verified.credentialExpiresAt
            return ProviderToken(kind: tokenKind, text: Secret(text), expiresAt: end)
        }
        result = AuthenticationResult(
            verified: verified,
            profile: profile,
            confirmedAddress: object[Key.confirmedAddress]?.string,
            token: token,
            isRepeatable: false
        )
        mapping = object[Key.mapping]
        codeChallenge = object[Key.codeChallenge]?.string
        // If the factor cannot be read, the login has no factor and asks for one.
        factor = object[Key.factor]?.object.flatMap { VerifiedFactor($0) }
        invitation = InvitationToken(hashText: object[Key.invitation]?.string)
    }
}
