import Vocabulary

/// The table `auth.users` of Supabase, as COPY or `json_agg` gives it, with the rows of `auth.identities` as a JSON
/// list in a column `identities` where there is one.
///
/// Only what is named here is read: the other columns are tokens, and what belongs to them.
struct SupabaseSource: UserSource {
    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser {
        guard record.present("deleted_at") == nil || record.text("deleted_at") == nil else {
            throw RecordRefusal(.statusUnknown, "the user is marked as deleted there")
        }
        let id = record.text("id")
        var user = try ImportedUser(id: id)
        user.keepsID = id.flatMap { ObjectID($0) } != nil
        user.status = record.text("banned_until") == nil ? .enabled : .disabled
        user.emailVerified = (record.text("email_confirmed_at") ?? record.text("confirmed_at")) != nil
        user.created = record.moment("created_at")
        user.updated = record.moment("updated_at")
        user.lastLogin = record.moment("last_sign_in_at")
        user.password = record.text("encrypted_password").map { .text(Secret($0)) }
        for identity in record.array("identities")?.compactMap(\.object) ?? [] {
            guard let provider = identity.text("provider"), provider != "email", provider != "phone",
                let subject = identity.text("provider_id") ?? identity.object("identity_data")?.text("sub")
            else { continue }
            user.identities.append(
                ImportedIdentity(provider, subject: subject, created: identity.moment("created_at"))
            )
        }
        let about = record.object("raw_user_meta_data")
        for name in ["email", "phone"] {
            if let text = record.text(name) { user.fields.append(name, .string(text)) }
        }
        if let name = about?.text("name") ?? about?.text("full_name") { user.fields.append("name", .string(name)) }
        for member in about?.members ?? []
        where user.fields[member.key] == nil && !Self.ofProviders.contains(member.key) && !member.value.isNull {
            user.fields.append(member.key, member.value)
        }
        return user
    }

    /// What providers put beside what the app keeps.
    private static let ofProviders: Set<String> = [
        "sub", "iss", "email_verified", "phone_verified", "full_name", "provider_id",
    ]
}
