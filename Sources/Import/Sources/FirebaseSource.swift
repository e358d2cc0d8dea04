import Vocabulary

/// What `firebase auth:export` writes as JSON: `{"users": […]}`.
struct FirebaseSource: UserSource {
    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser {
        var user = try ImportedUser(id: record.text("localId"))
        user.status = record.isTrue("disabled") ? .disabled : .enabled
        user.emailVerified = record.isTrue("emailVerified")
        user.created = record.moment("createdAt")
        user.lastLogin = record.moment("lastSignedInAt") ?? record.moment("lastLoginAt")
        if let hash = record.text("passwordHash") {
            // Accounts that Firebase itself was given with hashes of other systems have none here that could be used.
            guard let hash = SourceValue.base64(hash), let salt = SourceValue.base64(record.text("salt") ?? "") else {
                throw RecordRefusal(.passwordNotTaken, "passwordHash or salt is not base64")
            }
            user.password = .firebase(hash: hash, salt: salt)
        }
        for identity in record.array("providerUserInfo")?.compactMap(\.object) ?? [] {
            guard let provider = identity.text("providerId"), let subject = identity.text("rawId"),
                provider != "password", provider != "phone"
            else { continue }
            user.identities.append(ImportedIdentity(provider, subject: subject))
        }
        for (name, member) in [
            ("email", "email"), ("name", "displayName"), ("photoUrl", "photoUrl"), ("phoneNumber", "phoneNumber"),
        ] {
            if let text = record.text(member) { user.fields.append(name, .string(text)) }
        }
        if let claims = record.object("customAttributes") { user.fields.append("customAttributes", .object(claims)) }
        return user
    }
}
