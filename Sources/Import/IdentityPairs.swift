package import Domain
import Encodings

/// Reads the records of a file of identities.
///
/// A record has the member `objectId` or `email`, and the member `subject`: the id at the provider.
package struct IdentityPairs: Sendable {
    private let application: ApplicationID
    private let provider: ProviderName
    private let app: ProviderAppID
    private let rule: SubjectRule
    private let former: ImportSource?

    /// Creates the reader of a file.
    ///
    /// - Parameters:
    ///   - application: The application of the users.
    ///   - provider: The provider of all identities in the file.
    ///   - app: The app to which the ids at the provider belong.
    ///   - rule: The provider's rule for valid ids.
    ///   - former: The system from which an earlier import took the users, if the file names users by their ids in that
    ///     system.
    package init(
        of application: ApplicationID,
        at provider: ProviderName,
        app: ProviderAppID,
        rule: SubjectRule,
        idsOf former: ImportSource?
    ) {
        self.application = application
        self.provider = provider
        self.app = app
        self.rule = rule
        self.former = former
    }

    /// Returns whether a CSV file with these columns can name users and identities.
    package static func areColumns(_ names: [String]) -> Bool {
        names.contains("subject") && (names.contains("objectId") || names.contains("email"))
    }

    /// Reads a record.
    ///
    /// - Throws: The reason why the record names no user or no identity.
    package func pair(of record: SourceRecord) throws(RecordRefusal) -> IdentityPair {
        let members = try record.members()
        guard let text = members.text("subject"), let subject = rule.subject(text) else {
            throw RecordRefusal(.identityNotTaken, "its subject is missing, or is no id at \(provider)")
        }
        return IdentityPair(
            record: record.number,
            line: record.line,
            user: try user(members),
            identity: IdentityKey(provider: provider, app: app, subject: subject)
        )
    }

    /// Returns the identity of a record and the text by which it names its user, also if the record is refused.
    package func claim(of record: SourceRecord) -> (identities: [IdentityKey], user: String) {
        guard let members = try? record.members() else { return ([], "") }
        let user = members.text("objectId") ?? members.text("email") ?? ""
        guard let subject = members.text("subject").flatMap(rule.subject) else { return ([], user) }
        return ([IdentityKey(provider: provider, app: app, subject: subject)], user)
    }

    private func user(_ members: JSONObject) throws(RecordRefusal) -> IdentityPair.User {
        switch (members.text("objectId"), members.text("email")) {
        case (let id?, nil):
            if let id = ObjectID(id) { return .id(id) }
            guard let former else {
                throw RecordRefusal(.idMissing, "its objectId is no UUID: name the former system of the ids")
            }
            return .id(ObjectID(of: id, at: former, in: application))
        case (nil, let text?):
            guard let email = EmailAddress(text) else {
                throw RecordRefusal(.emailInvalid, "its e-mail is none that can be used here: one address, all ASCII")
            }
            return .email(email)
        case (nil, nil): throw RecordRefusal(.idMissing, "it has neither an objectId nor an e-mail")
        case (_?, _?): throw RecordRefusal(.malformed, "it has both an objectId and an e-mail: leave one empty")
        }
    }
}

/// The ids at a provider that a file gives to several users.
///
/// None of these users gets the id. A file may have the ids from a property that clients can write, so a user may have
/// entered the id of another user. The first record with an id may thus be the wrong one.
package struct RepeatedIdentities: Sendable {
    /// For each identity of the file, a hash of the user to whom the last record with the identity gives it.
    private var users: [Int: Int] = [:]
    private var repeated: Set<Int> = []
    /// The number of records that were added.
    package private(set) var records = 0

    package init() {}

    /// Adds a record of the file.
    ///
    /// - Parameters:
    ///   - identities: The identities of the record, also if the record is refused for another reason.
    ///   - user: The text by which the record names its user.
    package mutating func add(_ identities: [IdentityKey], of user: String) {
        records += 1
        let user = user.lowercased().hashValue
        for identity in identities {
            let key = identity.hashValue
            if let other = users.updateValue(user, forKey: key), other != user { repeated.insert(key) }
        }
    }

    /// Returns why a record does not count; nil if the file gives its identities to only one user.
    package func refusal(of identities: [IdentityKey]) -> RecordRefusal? {
        guard identities.contains(where: { repeated.contains($0.hashValue) }) else { return nil }
        return RecordRefusal(.identityTaken, "several users of the file have its id at the provider")
    }
}
