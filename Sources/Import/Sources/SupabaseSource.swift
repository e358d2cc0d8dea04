import Domain
import Encodings

/// Users of Supabase: the table `auth.users` as written by COPY or `json_agg`, or records of the Admin API.
///
/// An optional column `identities` has the rows of `auth.identities` as a JSON list.
struct SupabaseSource: UserSource {
    private static let known: Set<String> = [
        "id", "email", "phone", "encrypted_password", "email_confirmed_at", "confirmed_at", "created_at", "updated_at",
        "last_sign_in_at", "banned_until", "deleted_at", "raw_user_meta_data", "user_metadata", "raw_app_meta_data",
        "app_metadata", "identities",
        // Members that the import does not need: tokens and their metadata, and internal values of Supabase.
        "instance_id", "aud", "role", "invited_at", "confirmation_token", "confirmation_sent_at", "recovery_token",
        "recovery_sent_at", "email_change", "email_change_token_new", "email_change_token_current",
        "email_change_confirm_status", "email_change_sent_at", "new_email", "phone_confirmed_at", "phone_change",
        "phone_change_token", "phone_change_sent_at", "new_phone", "reauthentication_token", "reauthentication_sent_at",
        "is_super_admin", "is_sso_user", "is_anonymous", "action_link",
    ]
    /// The names of Supabase's login methods that are not an identity at a provider.
    private static let own: Set<String> = ["email", "phone", "anonymous"]

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
        for identity in try record.identities("identities") ?? []
        where !Self.own.contains(identity.text("provider") ?? "") {
            try user.takeIdentity(
                identity.text("provider"),
                subject: identity.text("provider_id") ?? identity.object("identity_data")?.text("sub"),
                created: identity.moment("created_at")
            )
        }
        user.takeFields(of: record, without: Self.known)
        // A record without the list of identities still names their providers. Such a record is refused.
        for member in ["raw_app_meta_data", "app_metadata"] {
            let about = record.object(member)
            let providers =
                about?.array("providers")?.compactMap(\.string) ?? [about?.text("provider")].compactMap(\.self)
            let taken = user.identities.map(\.provider)
            if providers.contains(where: { !Self.own.contains($0) && !taken.contains(ImportedIdentity.name($0)) }) {
                user.suspects.append(member)
            }
        }
        let about = record.object("raw_user_meta_data") ?? record.object("user_metadata")
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

    /// Members of a user's metadata that Supabase copied from a provider.
    ///
    /// They do not become fields of the imported user.
    private static let ofProviders: Set<String> = [
        "sub", "iss", "email_verified", "phone_verified", "full_name", "provider_id",
    ]
}
