import Vocabulary

/// The class `_User` of Parse: as its dashboard and REST API have it (`{"results": […]}`), as parse.com wrote it
/// (`bcryptPassword`), and as mongoexport writes the collection (`_hashed_password`, `_auth_data_facebook`).
struct ParseSource: UserSource {
    private static let system: Set<String> = [
        "objectId", "createdAt", "updatedAt", "username", "emailVerified", "authData", "bcryptPassword", "password",
        "sessionToken", "ACL", "className", "__type",
    ]
    private static let authentication = "_auth_data_"

    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser {
        var user = try ImportedUser(id: record.text("objectId") ?? record.text("_id"))
        user.emailVerified = record.isTrue("emailVerified")
        user.created = record.moment("createdAt") ?? record.moment("_created_at")
        user.updated = record.moment("updatedAt") ?? record.moment("_updated_at")
        user.password = (record.text("_hashed_password") ?? record.text("bcryptPassword")).map { .text(Secret($0)) }
        // People log in by their name there, which may be their address.
        let username = record.text("username")
        if record.text("email") == nil { user.login = username }
        var accounts = record.object("authData")?.members ?? []
        for member in record.members where member.key.hasPrefix(Self.authentication) {
            accounts.append(.init(String(member.key.dropFirst(Self.authentication.count)), member.value))
        }
        for account in accounts where account.key != "anonymous" {
            guard let subject = account.value.object?.text("id") else { continue }
            user.identities.append(ImportedIdentity(account.key, subject: subject))
        }
        user.fields = JSONObject(
            record.without(Self.system).members.filter { !$0.key.hasPrefix("_") }
                .map { .init($0.key, Self.plain($0.value)) }
        )
        if let username { user.fields.append("username", .string(username)) }
        return user
    }

    /// A date without the object around it; other values as they are.
    private static func plain(_ value: JSONValue) -> JSONValue {
        guard let object = value.object, object["__type"]?.string == "Date" || object["$date"] != nil else {
            return value
        }
        return SourceValue.moment(value).map(JSONValue.integer) ?? value
    }
}
