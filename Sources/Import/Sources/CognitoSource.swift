import Mapping
import Vocabulary

/// Users of Amazon Cognito in the columns of its CSV form: `cognito:username` and the attributes, with `sub` beside
/// them where the export has it.
///
/// Cognito gives no hash of a password away.
struct CognitoSource: UserSource {
    private static let system: Set<String> = [
        "sub", "email_verified", "phone_number_verified", "updated_at", "locale", "identities", "enabled",
    ]
    private static let custom = "custom:"

    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser {
        var user = try ImportedUser(id: record.text("sub") ?? record.text("cognito:username"))
        if let enabled = record.text("enabled"), SourceValue.bool(enabled) == false { user.status = .disabled }
        user.emailVerified = record.isTrue("email_verified")
        user.locale = record.text("locale").flatMap(LanguageTag.letters)
        user.created = record.moment("created_at") ?? record.moment("UserCreateDate")
        // Seconds, as OpenID Connect has it.
        user.updated = record.text("updated_at").flatMap { Int64($0) }.flatMap { MomentText.moment(seconds: $0) }
        for identity in record.array("identities")?.compactMap(\.object) ?? [] {
            guard let provider = identity.text("providerName"), let subject = identity.text("userId") else { continue }
            user.identities.append(ImportedIdentity(provider.lowercased(), subject: subject))
        }
        user.fields = JSONObject(
            record.without(Self.system).members.compactMap { member -> JSONObject.Member? in
                if member.key.hasPrefix("cognito:") || member.key.hasPrefix("User") { return nil }
                guard member.key.hasPrefix(Self.custom) else { return member }
                return .init(String(member.key.dropFirst(Self.custom.count)), member.value)
            }
        )
        return user
    }
}
