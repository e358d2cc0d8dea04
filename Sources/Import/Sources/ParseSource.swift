import Domain
import Encodings

/// Users of Parse: the class `_User` in any of three forms.
///
/// The forms are those of the dashboard and the REST API (`{"results": […]}`), of parse.com (`bcryptPassword`), and of
/// mongoexport (`_hashed_password`, `_auth_data_facebook`).
struct ParseSource: UserSource {
    private static let known: Set<String> = [
        "objectId", "_id", "createdAt", "_created_at", "updatedAt", "_updated_at", "username", "emailVerified",
        "authData", "bcryptPassword", "_hashed_password",
        // Members that the import does not need.
        "sessionToken", "_session_token", "ACL", "_acl", "_rperm", "_wperm", "className", "__type",
        "_email_verify_token", "_perishable_token", "_password_history", "_tombstone",
    ]
    private static let authentication = "_auth_data_"

    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser {
        var user = try ImportedUser(id: record.text("objectId") ?? record.text("_id"))
        user.emailVerified = record.isTrue("emailVerified")
        user.created = record.moment("createdAt") ?? record.moment("_created_at")
        user.updated = record.moment("updatedAt") ?? record.moment("_updated_at")
        user.password = (record.text("_hashed_password") ?? record.text("bcryptPassword")).map { .text(Secret($0)) }
        // Parse's login name is the username. The username may be an e-mail address.
        let username = record.text("username")
        if record.text("email") == nil { user.login = username }
        var accounts = record.object("authData")?.members ?? []
        if accounts.isEmpty, let other = record.present("authData"), other.object == nil, other.string?.isEmpty != true
        {
            throw RecordRefusal(.identityNotTaken, "its member authData is no object, as JSON")
        }
        for member in record.members where member.key.hasPrefix(Self.authentication) {
            accounts.append(.init(String(member.key.dropFirst(Self.authentication.count)), member.value))
        }
        for account in accounts where account.key != "anonymous" {
            // The collection keeps a null for each unlinked provider.
            if account.value.isNull { continue }
            try user.takeIdentity(account.key, subject: account.value.object?.text("id"))
        }
        user.takeFields(
            of: JSONObject(record.members.filter { !$0.key.hasPrefix(Self.authentication) }),
            without: Self.known
        )
        user.fields = JSONObject(
            user.fields.members.filter { !$0.key.hasPrefix("_") }.map { .init($0.key, Self.plain($0.value)) }
        )
        if let username { user.fields.append("username", .string(username)) }
        return user
    }

    /// Returns a date without its enclosing object, and any other value unchanged.
    private static func plain(_ value: JSONValue) -> JSONValue {
        guard let object = value.object, object["__type"]?.string == "Date" || object["$date"] != nil else {
            return value
        }
        return SourceValue.moment(value).map(JSONValue.integer) ?? value
    }
}
