import Vocabulary
import Mapping

/// A login through the server between the browser's return from Facebook and the client's exchange of the login code.
struct VouchedLogin: Sendable {
    let proof: Proof
    /// The client's mapping that the login was begun with.
    let mapping: JSONValue?
    /// What the client must know the verifier of.
    let codeChallenge: String?

    init(proof: Proof, mapping: JSONValue?, codeChallenge: String?) {
        self.proof = proof
        self.mapping = mapping
        self.codeChallenge = codeChallenge
    }
}

// How it is sealed.
extension VouchedLogin {
    private enum Key {
        static let (appID, subject, profile, scopes) = ("app", "subject", "profile", "scopes")
        static let (declined, dataAccessEnd, tokenEnd) = ("declined", "dataAccessExpires", "tokenExpires")
        static let (token, mapping, codeChallenge) = ("token", "mapping", "codeChallenge")
    }

    var text: Secret {
        let person = proof.person
        var object: JSONObject = [
            Key.appID: .string(person.identity.app.text), Key.subject: .string(person.identity.subject.text),
            Key.profile: proof.profile.json, Key.scopes: .array(person.scopes.map(JSONValue.string)),
        ]
        if let declined = person.declinedScopes { object.append(Key.declined, .array(declined.map(JSONValue.string))) }
        if let end = person.dataAccessExpiresAt { object.append(Key.dataAccessEnd, .integer(end)) }
        if let end = person.credentialExpiresAt { object.append(Key.tokenEnd, .integer(end)) }
        if let token = proof.token { object.append(Key.token, .string(token.text.reveal())) }
        if let mapping { object.append(Key.mapping, mapping) }
        if let codeChallenge { object.append(Key.codeChallenge, .string(codeChallenge)) }
        return Secret(JSONValue.object(object).text)
    }

    /// Nil for a text that another version wrote.
    init?(_ text: Secret) {
        guard let object = try? JSONParser.parse(text.reveal(), limits: .stored).object,
            let appID = object[Key.appID]?.string.flatMap(ProviderAppID.init),
            let subject = object[Key.subject]?.string.flatMap(Subject.init(decimal:)),
            let profile = object[Key.profile].flatMap(AdmittedProfile.init), let scopes = object[Key.scopes]?.array
        else { return nil }
        let person = VerifiedPerson(
            identity: IdentityKey(provider: .facebook, app: appID, subject: subject),
            profile: profile.fields,
            scopes: scopes.compactMap(\.string),
            declinedScopes: object[Key.declined]?.array?.compactMap(\.string),
            dataAccessExpiresAt: object[Key.dataAccessEnd]?.integer,
            credentialExpiresAt: object[Key.tokenEnd]?.integer
        )
        let token = object[Key.token]?.string.map { text in
            ProviderToken(kind: .access, text: Secret(text), expiresAt: person.credentialExpiresAt)
        }
        proof = Proof(person: person, profile: profile, token: token)
        mapping = object[Key.mapping]
        codeChallenge = object[Key.codeChallenge]?.string
    }
}
