package import Vocabulary

/// A user as a source tells of it, in the same words for all sources.
package struct ImportedUser: Sendable {
    /// Who it is at the source.
    package let id: String
    /// Whether the id is a UUID that the user keeps.
    package var keepsID = false
    package var status = UserStatus.enabled
    package var emailVerified = false
    /// Two letters.
    package var locale: String?
    /// Milliseconds since 1970 UTC.
    package var created: Int64?
    package var updated: Int64?
    package var lastLogin: Int64?
    /// The address that the user logs in by with the password, where that is not the property `email`.
    package var login: String?
    package var password: ImportedHash?
    package var identities: [ImportedIdentity] = []
    package var roles: [String] = []
    /// What may become properties, `email` and `name` among it.
    package var fields = JSONObject()
    /// Members that look like a credential, a hash or an identity, and that the source does not read.
    ///
    /// One that becomes no property refuses the record, unless the operator leaves it out.
    package var suspects: [String] = []

    init(id: String?) throws(RecordRefusal) {
        guard let id, (1...255).contains(id.utf8.count) else {
            throw RecordRefusal(.idMissing, "it has no id, or one of more than 255 bytes")
        }
        self.id = id
    }

    /// Takes the members that the source does not read as fields, and notes the suspicious ones.
    mutating func takeFields(of record: JSONObject, without known: Set<String>) {
        fields = record.without(known)
        suspects += fields.members.filter(Suspicion.falls).map(\.key)
    }

    /// Takes an identity.
    ///
    /// - Throws: `identityNotTaken` without a provider or an id of the person there.
    mutating func takeIdentity(
        _ provider: String?,
        app: String? = nil,
        subject: String?,
        created: Int64? = nil
    ) throws(RecordRefusal) {
        guard let provider, let subject else {
            throw RecordRefusal(.identityNotTaken, "an identity has no provider, or no id of the person there")
        }
        identities.append(ImportedIdentity(provider, app: app, subject: subject, created: created))
    }
}

/// The hash of a password as a source has it.
package enum ImportedHash: Sendable {
    /// In a text form that says how it was made.
    case text(Secret)
    /// Of Firebase, whose parameters are those of the project.
    case firebase(hash: [UInt8], salt: [UInt8])
    /// A digest, by its name in lower case, of salt and password.
    case digest(String, hash: [UInt8], salt: [UInt8], saltIsBefore: Bool)
}

/// An account at a provider by which the user logs in.
package struct ImportedIdentity: Sendable {
    /// The provider's name here, or the source's word for it.
    package let provider: String
    /// The app that the subject is scoped to, where the source tells.
    package let app: String?
    package let subject: String
    package let created: Int64?

    /// Takes a source's word for a provider.
    init(_ word: String, app: String? = nil, subject: String, created: Int64? = nil) {
        provider = Self.name(word)
        self.app = app
        self.subject = subject
        self.created = created
    }

    /// The name that a provider has here, by a source's word for it.
    static func name(_ word: String) -> String { word.utf8.count <= 32 ? names[word] ?? word : word }

    private static let names = [
        "facebook.com": "facebook", "google.com": "google", "google-oauth2": "google", "googleplus": "google",
        "apple.com": "apple", "twitter.com": "twitter", "github.com": "github", "signinwithapple": "apple",
        "loginwithamazon": "amazon",
    ]
}

/// Why a record is no user here; repeats nothing of it.
package struct RecordRefusal: Error, Sendable, Equatable {
    /// For programs, and for the report.
    package enum Reason: String, Sendable, CaseIterable {
        case malformed, idMissing, emailInvalid, passwordNotTaken, identityNotTaken, memberNotTaken
        case statusUnknown, roleUnknown
        case propertyMissing, valueNotConvertible, noLoginMethod
        case repeated, loginTaken, identityTaken, identityBanned, valueTaken, notStored
    }

    package let reason: Reason
    /// Behind "Line 7:".
    package let message: String

    package init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
