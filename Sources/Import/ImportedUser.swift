package import Domain
package import Encodings

/// A user that another system (the source) has exported, in a form common to all systems.
package struct ImportedUser: Sendable {
    /// The id of the user at the source.
    package let id: String
    /// Whether the id is a UUID that becomes the user's `objectId`.
    package var keepsID = false
    package var status = UserStatus.enabled
    package var emailVerified = false
    /// The two letters of the user's language, such as `de`.
    package var locale: String?
    /// The time at which the user was created at the source, in milliseconds since 1970 UTC.
    ///
    /// `updated` and `lastLogin` are in the same unit.
    package var created: Int64?
    package var updated: Int64?
    package var lastLogin: Int64?
    /// The login name at the source, if the source has one besides `email`.
    ///
    /// It counts only if it is an e-mail address, and if the application's login name is the e-mail address.
    package var login: String?
    package var password: ImportedHash?
    /// The id of the user for clients of Firebase, if the export has one.
    package var uid: FirebaseUID?
    /// The custom claims of the user's ID tokens; nil for none.
    package var claims: CustomClaims?
    package var identities: [ImportedIdentity] = []
    package var roles: [String] = []
    /// The fields that may become properties, including `email` and `name`.
    package var fields = JSONObject()
    /// The names of record members that look like a credential, a hash or an identity, but that the import does not
    /// read.
    ///
    /// If no property takes such a member, the record is refused, unless the operator leaves the member out.
    package var suspects: [String] = []

    init(id: String?) throws(RecordRefusal) {
        guard let id, (1...255).contains(id.utf8.count) else {
            throw RecordRefusal(.idMissing, "it has no id, or one of more than 255 bytes")
        }
        self.id = id
    }

    /// Adds all members of the record except the `known` ones as fields.
    ///
    /// The names of members that look like a credential or an identity also become `suspects`.
    mutating func takeFields(of record: JSONObject, without known: Set<String>) {
        fields = record.without(known)
        suspects += fields.members.filter(Suspicion.falls).map(\.key)
    }

    /// Takes the uid.
    ///
    /// - Throws: `uidNotTaken` if the text cannot be a uid.
    mutating func takeUID(_ text: String) throws(RecordRefusal) {
        guard let uid = FirebaseUID(text) else {
            throw RecordRefusal(.uidNotTaken, "its uid has more than 128 bytes or a control character")
        }
        self.uid = uid
    }

    /// Takes the custom claims in a member of the record, unless the member is absent or empty.
    ///
    /// - Throws: `claimsNotTaken` for a value that cannot be custom claims.
    mutating func takeClaims(_ name: String, of record: JSONObject) throws(RecordRefusal) {
        guard let value = record.present(name), value.string?.isEmpty != true else { return }
        guard let object = record.object(name) else {
            throw RecordRefusal(.claimsNotTaken, "its \(name) is no JSON object")
        }
        guard !object.members.isEmpty else { return }
        do throws(CustomClaims.Problem) { claims = try CustomClaims(object) } catch {
            throw RecordRefusal(.claimsNotTaken, "the claims in its \(name) \(error)")
        }
    }

    /// Adds an identity.
    ///
    /// - Throws: `identityNotTaken` if the provider or the subject is missing.
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

/// A password hash that another system has exported.
package enum ImportedHash: Sendable {
    /// A hash in a text form that names its algorithm.
    case text(Secret)
    /// A hash of Firebase. Its parameters belong to the Firebase project.
    case firebase(hash: [UInt8], salt: [UInt8])
    /// A digest of salt and password. The first value is the name of the hash function in lower case.
    case digest(String, hash: [UInt8], salt: [UInt8], saltIsBefore: Bool)
}

/// An identity of the user at a provider.
package struct ImportedIdentity: Sendable {
    /// The name of the provider in this service; for a provider unknown to this service, its name in the exporting
    /// system.
    package let provider: String
    /// The app at the provider to which the user's id (subject) belongs; nil if the export names no app.
    package let app: String?
    package let subject: String
    package let created: Int64?

    /// Creates an identity.
    ///
    /// The first parameter is the name that the exporting system has for the provider.
    init(_ word: String, app: String? = nil, subject: String, created: Int64? = nil) {
        provider = Self.name(word)
        self.app = app
        self.subject = subject
        self.created = created
    }

    /// Returns the name that a provider has in this service, for its name in the exporting system.
    ///
    /// An unknown name is returned unchanged.
    static func name(_ word: String) -> String { word.utf8.count <= 32 ? names[word] ?? word : word }

    private static let names = [
        "facebook.com": "facebook", "google.com": "google", "google-oauth2": "google", "googleplus": "google",
        "apple.com": "apple", "twitter.com": "twitter", "github.com": "github", "signinwithapple": "apple",
        "loginwithamazon": "amazon",
    ]
}

/// The reason why a record cannot become a user.
///
/// It contains no value of the record.
package struct RecordRefusal: Error, Sendable, Equatable {
    /// A code of the reason, for programs and for the report of the import.
    package enum Reason: String, Sendable, CaseIterable {
        case malformed, idMissing, emailInvalid, passwordNotTaken, identityNotTaken, memberNotTaken
        case statusUnknown, roleUnknown, uidNotTaken, claimsNotTaken
        case propertyMissing, valueNotConvertible, noLoginMethod
        case repeated, loginTaken, identityTaken, identityBanned, uidTaken, valueTaken, notStored
    }

    package let reason: Reason
    /// The end of a sentence that begins with "Line 7:".
    package let message: String

    package init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
