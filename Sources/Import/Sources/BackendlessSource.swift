import Domain
import Encodings

/// Users of Backendless, from the CSV export of the Users table.
///
/// Each property has a column. In an export with the schema, the column's name contains the type, as in `age(INT)`. If
/// the column `password` has a hash, the hash is imported; a plain-text password is not.
struct BackendlessSource: UserSource {
    private static let known: Set<String> = [
        "objectId", "created", "updated", "lastLogin", "userStatus", "blUserLocale", "password",
        // Members that the import does not need.
        "ownerId", "accountType", "user-token", "___class", "___jsonclass", "__meta",
    ]

    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser {
        let record = JSONObject(record.members.map { .init(Self.name($0.key), $0.value) })
        let id = record.text("objectId")
        var user = try ImportedUser(id: id)
        user.keepsID = id.flatMap { ObjectID($0) } != nil
        user.status = try UserStatus(source: record.text("userStatus"))
        user.locale = record.text("blUserLocale").flatMap(LanguageTag.letters)
        user.created = record.moment("created")
        user.updated = record.moment("updated")
        user.lastLogin = record.moment("lastLogin")
        user.password = record.text("password").map { .text(Secret($0)) }
        // Backendless writes this word if the user has no social account.
        let hasNone = record.text("socialAccount") == "BACKENDLESS"
        user.takeFields(of: record, without: hasNone ? Self.known.union(["socialAccount"]) : Self.known)
        return user
    }

    /// Returns the column's name without the type.
    private static func name(_ column: String) -> String {
        guard column.hasSuffix(")"), let bracket = column.firstIndex(of: "(") else { return column }
        return String(column[..<bracket])
    }
}

extension UserStatus {
    /// Reads a status in the words of Backendless.
    ///
    /// Without a status, the user is enabled.
    init(source word: String?) throws(RecordRefusal) {
        guard let word else {
            self = .enabled
            return
        }
        guard let status = UserStatus(rawValue: word.uppercased()) else {
            throw RecordRefusal(.statusUnknown, "its userStatus is none of the words for that")
        }
        self = status
    }
}
