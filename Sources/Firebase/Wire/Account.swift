import Domain
import Encodings

/// A user as Firebase's clients see one.
struct Account: Sendable {
    /// The `localId`: the uid that was imported, or else the object id.
    let id: String
    let email: String?
    let displayName: String?
    let photoURL: String?
    let phoneNumber: String?
    private let facts: AccountFacts

    init(_ facts: AccountFacts, in application: ServedApplication) {
        let (user, settings) = (facts.user, application.settings)
        self.facts = facts
        id = facts.uid ?? user.objectID.description
        email = user.email
        displayName = user.text(of: settings.displayName)
        photoURL = user.text(of: settings.photoURL)
        phoneNumber = user.text(of: settings.phoneNumber)
    }

    /// Returns the user object of `accounts:lookup` (docs/protocols/firebase.md §5).
    ///
    /// Absent values are left out. Times are texts, since the SDK for iOS reads no numbers there.
    static func json(_ details: AccountDetails, in application: ServedApplication) -> JSONObject {
        let account = Account(details.facts, in: application)
        let user = details.user
        var json: JSONObject = ["localId": .string(account.id)]
        account.addProfile(to: &json)
        if account.email != nil { json.append("emailVerified", .bool(user.emailVerified)) }
        if let changed = details.passwordChanged {
            // The SDK for the web takes a user without it for anonymous. Nobody gets the hash itself.
            json.append("passwordHash", .string("UkVEQUNURUQ="))
            json.append("passwordUpdatedAt", .integer(changed))
        }
        json.append("providerUserInfo", .array(account.providers))
        let factors = details.codeFactors.map { enrolment($0) }
        if !factors.isEmpty { json.append("mfaInfo", .array(factors)) }
        let validSince = max((details.passwordChanged ?? user.created) / 1000, details.validSince ?? 0)
        json.append("validSince", .string(String(validSince)))
        json.append("createdAt", .string(String(user.created)))
        json.append("lastLoginAt", .string(String(user.lastLogin ?? user.created)))
        if user.status == .disabled { json.append("disabled", .bool(true)) }
        if let claims = details.facts.claims { json.append("customAttributes", .string(claims)) }
        return json
    }

    /// Returns a second factor as a member of `mfaInfo`.
    ///
    /// The SDK for the web tells the kind by the presence of `totpInfo` or `phoneInfo`. The number stays masked.
    static func enrolment(_ factor: CodeFactor, maskedNumber: String? = nil) -> JSONValue {
        var json: JSONObject = ["mfaEnrollmentId": .string(factor.id), "enrolledAt": .time(factor.created)]
        if factor.kind == .sms {
            json.append("phoneInfo", .string(maskedNumber ?? "+"))
        } else {
            json.append("totpInfo", .object([:]))
        }
        if let label = factor.label { json.append("displayName", .string(label)) }
        return .object(json)
    }

    /// Adds the members that describe the user.
    func addProfile(to json: inout JSONObject) {
        for (name, value) in [
            ("email", email), ("displayName", displayName), ("photoUrl", photoURL), ("phoneNumber", phoneNumber),
        ] {
            if let value { json.append(name, .string(value)) }
        }
    }

    /// The login methods of the user, as `providerUserInfo`.
    ///
    /// The SDK for the web takes the id at the provider from `rawId`, the one for iOS from `federatedId`.
    var providers: [JSONValue] {
        let methods = facts.identities.map { (ProviderID.id(of: $0.provider.text), $0.subject.text) }
        let password = facts.passwordLogin.map { [(ProviderName.password.text, email ?? $0)] } ?? []
        return (password + methods).map { id, subject in
            var json: JSONObject = [
                "providerId": .string(id), "rawId": .string(subject), "federatedId": .string(subject),
            ]
            for (name, value) in [("email", email), ("displayName", displayName), ("photoUrl", photoURL)] {
                if let value { json.append(name, .string(value)) }
            }
            return .object(json)
        }
    }
}
