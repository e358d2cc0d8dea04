import Vocabulary

/// Backendless' CSV export of the Users table: a column for each property, with its type behind the name where the
/// export was made with the schema, `age(INT)`.
///
/// A hash in the column `password` is taken; a password that stands there in plain text is none.
struct BackendlessSource: UserSource {
    private static let known: Set<String> = [
        "objectId", "created", "updated", "lastLogin", "userStatus", "blUserLocale", "password",
        // Nobody needs these here.
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
        // This word stands for users without a social account.
        let hasNone = record.text("socialAccount") == "BACKENDLESS"
        user.takeFields(of: record, without: hasNone ? Self.known.union(["socialAccount"]) : Self.known)
        return user
    }

    /// The name without its type.
    private static func name(_ column: String) -> String {
        guard column.hasSuffix(")"), let bracket = column.firstIndex(of: "(") else { return column }
        return String(column[..<bracket])
    }
}

extension UserStatus {
    /// A status in our words, which are those of Backendless; enabled where nothing is said.
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
