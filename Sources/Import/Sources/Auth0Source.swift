import Domain
import Encodings

/// Users of Auth0: records of its export job, of the file with password hashes from its support, or of a bulk import.
struct Auth0Source: UserSource {
    private static let known: Set<String> = [
        "user_id", "_id", "email", "email_verified", "created_at", "updated_at", "last_login", "blocked", "identities",
        "password_hash", "passwordHash", "custom_password_hash", "locale", "user_metadata",
        // Members that the import does not need.
        "last_ip", "logins_count", "last_password_reset", "password_set_date", "tenant", "connection", "_tmp_is_unique",
        "phone_verified",
    ]
    /// The id prefixes of users who log in by Auth0 itself: with a password, or a code by mail or SMS.
    private static let own: Set<String> = ["auth0", "email", "sms"]

    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser {
        let own = record.text("user_id") ?? record.object("_id")?.text("$oid")
        // In the export the id is `auth0|5f…`, in the file with hashes `5f…`.
        var user = try ImportedUser(id: own.map { $0.hasPrefix("auth0|") ? String($0.dropFirst(6)) : $0 })
        user.status = record.isTrue("blocked") ? .disabled : .enabled
        user.emailVerified = record.isTrue("email_verified")
        user.locale = record.text("locale").flatMap(LanguageTag.letters)
        user.created = record.moment("created_at")
        user.updated = record.moment("updated_at")
        user.lastLogin = record.moment("last_login")
        user.password = try Self.password(record)
        if let identities = try record.identities("identities") {
            for identity in identities where !Self.own.contains(identity.text("provider") ?? "") {
                try user.takeIdentity(identity.text("provider"), subject: identity.text("user_id"))
            }
        } else if let own, let bar = own.firstIndex(of: "|"), !Self.own.contains(String(own[..<bar])) {
            // Without the list of identities, the id has the identity with which the user registered.
            try user.takeIdentity(String(own[..<bar]), subject: String(own[own.index(after: bar)...]))
        }
        user.takeFields(of: record, without: Self.known)
        if let email = record.text("email") { user.fields.append("email", .string(email)) }
        // The user's metadata written by the app become fields, next to Auth0's own members.
        for member in record.object("user_metadata")?.members ?? [] where user.fields[member.key] == nil {
            user.fields.append(member.key, member.value)
        }
        return user
    }

    private static func password(_ record: JSONObject) throws(RecordRefusal) -> ImportedHash? {
        if let text = record.text("password_hash") ?? record.text("passwordHash") { return .text(Secret(text)) }
        guard record.present("custom_password_hash") != nil else { return nil }
        guard let custom = record.object("custom_password_hash") else {
            throw RecordRefusal(.passwordNotTaken, "custom_password_hash is no object")
        }
        let (hash, salt) = (custom.object("hash"), custom.object("salt"))
        guard let algorithm = custom.text("algorithm"), let value = hash?.text("value") else {
            throw RecordRefusal(.passwordNotTaken, "custom_password_hash has no algorithm or no value")
        }
        switch algorithm {
        case "bcrypt", "argon2", "pbkdf2", "scrypt": return .text(Secret(value))
        case "md5", "sha1", "sha256", "sha512":
            guard let hash = bytes(value, hash?.text("encoding") ?? "hex"),
                let salt = bytes(salt?.text("value") ?? "", salt?.text("encoding") ?? "utf8")
            else { throw RecordRefusal(.passwordNotTaken, "custom_password_hash is not in the encoding that it names") }
            let isBefore = custom.object("salt")?.text("position") != "suffix"
            return .digest(algorithm, hash: hash, salt: salt, saltIsBefore: isBefore)
        default:
            throw RecordRefusal(.passwordNotTaken, "hashes of its algorithm cannot be checked here")
        }
    }

    private static func bytes(_ text: String, _ encoding: String) -> [UInt8]? {
        switch encoding {
        case "hex": Hexadecimal.decode(text.utf8)
        case "base64": SourceValue.base64(text)
        case "utf8": Array(text.utf8)
        default: nil
        }
    }
}
