import Applications
import Domain
package import Encodings
import Mapping
package import Providers

/// A login through the server between the browser's return from the provider and the exchange of the login code.
package struct VouchedLogin: Sendable {
    package let result: AuthenticationResult
    /// The client's mapping from the beginning of the login.
    package let mapping: JSONValue?
    /// The challenge for which the client must know the verifier.
    let codeChallenge: String?
    /// The second factor shown at the browser's return; nil if none was required.
    let factor: VouchedFactor?
    /// The invitation that a new user presents.
    let invitation: InvitationToken?

    init(
        result: AuthenticationResult,
        mapping: JSONValue?,
        codeChallenge: String?,
        factor: VouchedFactor? = nil,
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
extension VouchedLogin {
    private enum Key {
        static let (provider, appID, subject, profile, scopes) = ("provider", "app", "subject", "profile", "scopes")
        static let (declined, dataAccessEnd, tokenEnd) = ("declined", "dataAccessExpires", "tokenExpires")
        static let (token, tokenKind, unlisted) = ("token", "tokenKind", "unlistedScopes")
        static let (mapping, codeChallenge, factor) = ("mapping", "codeChallenge", "factor")
        static let invitation = "invitation"
    }

    var text: Secret {
        let person = result.person
        var object: JSONObject = [
            Key.provider: .string(person.identity.provider.text),
            Key.appID: .string(person.identity.app.text), Key.subject: .string(person.identity.subject.text),
            Key.profile: result.profile.json, Key.scopes: .array(person.scopes.map(JSONValue.string)),
        ]
        if let declined = person.declinedScopes { object.append(Key.declined, .array(declined.map(JSONValue.string))) }
        if let end = person.dataAccessExpiresAt { object.append(Key.dataAccessEnd, .integer(end)) }
        if let end = person.credentialExpiresAt { object.append(Key.tokenEnd, .integer(end)) }
        if !person.scopesAreListed { object.append(Key.unlisted, .bool(true)) }
        if let token = result.token {
            object.append(Key.token, .string(token.text.reveal()))
            object.append(Key.tokenKind, .string(token.kind.rawValue))
        }
        if let mapping { object.append(Key.mapping, mapping) }
        if let codeChallenge { object.append(Key.codeChallenge, .string(codeChallenge)) }
        if let factor { object.append(Key.factor, .object(factor.object)) }
        if let invitation { object.append(Key.invitation, .string(invitation.sealed)) }
        return Secret(JSONValue.object(object).text)
    }

    /// Returns nil for a text of another version, and for a login by another provider.
    init?(_ text: Secret, provider: ProviderName) {
        guard let object = try? JSONParser.parse(text.reveal(), limits: .stored).object,
            object[Key.provider]?.string?.hasSameBytes(as: provider.text) == true,
            let appID = object[Key.appID]?.string.flatMap(ProviderAppID.init),
            let subject = object[Key.subject]?.string.flatMap({ Subject($0) }),
            let profile = object[Key.profile].flatMap(AdmittedProfile.init), let scopes = object[Key.scopes]?.array,
            // A login code is valid for a minute, including a code of a version that did not write the kind.
            let tokenKind = ProviderToken.Kind(
                rawValue: object[Key.tokenKind]?.string ?? ProviderToken.Kind.access.rawValue
            )
        else { return nil }
        let person = VerifiedPerson(
            identity: IdentityKey(provider: provider, app: appID, subject: subject),
            profile: profile.fields,
            scopes: scopes.compactMap(\.string),
            scopesAreListed: object[Key.unlisted] == nil,
            declinedScopes: object[Key.declined]?.array?.compactMap(\.string),
            dataAccessExpiresAt: object[Key.dataAccessEnd]?.integer,
            credentialExpiresAt: object[Key.tokenEnd]?.integer
        )
        let token = object[Key.token]?.string.map { text in
            ProviderToken(kind: tokenKind, text: Secret(text), expiresAt: person.credentialExpiresAt)
        }
        result = AuthenticationResult(person: person, profile: profile, token: token, isRepeatable: false)
        mapping = object[Key.mapping]
        codeChallenge = object[Key.codeChallenge]?.string
        // An unreadable factor counts as no factor, so that the login asks for one.
        factor = object[Key.factor]?.object.flatMap { VouchedFactor($0) }
        invitation = InvitationToken(sealed: object[Key.invitation]?.string)
    }
}
