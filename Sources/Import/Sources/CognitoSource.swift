import Domain
import Encodings
import Mapping

/// Users of Amazon Cognito, in the columns of its CSV form.
///
/// The columns are `cognito:username`, the attributes, and `sub` if the export has it. Cognito exports no password
/// hashes.
struct CognitoSource: UserSource {
    private static let known: Set<String> = [
        "sub", "cognito:username", "email_verified", "updated_at", "locale", "identities", "enabled", "created_at",
        "UserCreateDate",
        // Members that the import does not need.
        "phone_number_verified", "UserLastModifiedDate", "cognito:user_status", "UserStatus",
    ]
    private static let custom = "custom:"
    /// The names of providers with which Cognito begins a user name such as `Facebook_10223344`.
    ///
    /// Cognito makes such a user name from the provider and the id of the user there.
    private static let providers = ["Facebook", "Google", "LoginWithAmazon", "SignInWithApple"]

    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser {
        var user = try ImportedUser(id: record.text("sub") ?? record.text("cognito:username"))
        if let enabled = record.text("enabled"), SourceValue.bool(enabled) == false { user.status = .disabled }
        user.emailVerified = record.isTrue("email_verified")
        user.locale = record.text("locale").flatMap(LanguageTag.letters)
        user.created = record.moment("created_at") ?? record.moment("UserCreateDate")
        // The time is in seconds, as in OpenID Connect.
        user.updated = record.text("updated_at").flatMap { Int64($0) }.flatMap { MomentText.moment(seconds: $0) }
        let status = record.text("cognito:user_status") ?? record.text("UserStatus")
        if let identities = try record.identities("identities") {
            for identity in identities {
                try user.takeIdentity(identity.text("providerName")?.lowercased(), subject: identity.text("userId"))
            }
        } else if status == Self.external,
            let (provider, subject) = Self.identity(record.text("cognito:username"))
        {
            try user.takeIdentity(provider.lowercased(), subject: subject)
        } else if status == Self.external || status == nil && Self.identity(record.text("cognito:username")) != nil {
            // Without a status, the name may come from a provider or from the user's own choice. With a wrong identity,
            // another user's login would open this account.
            user.suspects.append("cognito:username")
        }
        user.takeFields(of: record, without: Self.known)
        user.suspects = user.suspects.map(Self.name)
        user.fields = JSONObject(
            user.fields.members.compactMap { member -> JSONObject.Member? in
                if member.key.hasPrefix("cognito:") || member.key.hasPrefix("User") { return nil }
                return .init(Self.name(member.key), member.value)
            }
        )
        return user
    }

    /// Returns the name of a column without `custom:`, the prefix of custom attributes.
    private static func name(_ column: String) -> String {
        column.hasPrefix(custom) ? String(column.dropFirst(custom.count)) : column
    }

    /// The value of the column with the status, for a user who logs in by a provider.
    private static let external = "EXTERNAL_PROVIDER"

    /// Returns the provider and the subject in a user name such as `Facebook_10223344`; nil for any other user name.
    private static func identity(_ username: String?) -> (provider: String, subject: String)? {
        guard let username, let underscore = username.firstIndex(of: "_") else { return nil }
        let subject = String(username[username.index(after: underscore)...])
        let word = String(username[..<underscore])
        // A user pool may convert names to lower case. This does not change decimal ids.
        let isDecimal = subject.utf8.allSatisfy { $0.isASCIIDigit }
        guard !subject.isEmpty,
            let provider = providers.first(where: { $0 == word || isDecimal && $0.lowercased() == word })
        else { return nil }
        return (provider, subject)
    }
}
