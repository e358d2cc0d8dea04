import Domain
import Encodings

/// Users of Firebase: the JSON of `firebase auth:export`, `{"users": […]}`, or records of the Admin SDK.
struct FirebaseSource: UserSource {
    private static let known: Set<String> = [
        "localId", "uid", "email", "emailVerified", "displayName", "photoUrl", "photoURL", "phoneNumber", "disabled",
        "createdAt", "lastSignedInAt", "lastLoginAt", "metadata", "passwordHash", "salt", "passwordSalt",
        "providerUserInfo", "providerData", "customAttributes", "customClaims",
        // Members that the import does not need.
        "validSince", "tokensValidAfterTime", "tokensValidAfterTimestamp", "lastRefreshAt", "passwordUpdatedAt",
        "version", "providerId", "initialEmail",
    ]
    /// The text that the Admin SDK returns in place of a password hash if its service account may not read the hash.
    private static let redacted = Array("redacted".utf8)

    func user(_ record: JSONObject) throws(RecordRefusal) -> ImportedUser {
        var user = try ImportedUser(id: record.text("localId") ?? record.text("uid"))
        // The app keeps its other data under this id.
        try user.takeUID(user.id)
        for name in ["customAttributes", "customClaims"] where user.claims == nil {
            try user.takeClaims(name, of: record)
        }
        user.status = record.isTrue("disabled") ? .disabled : .enabled
        user.emailVerified = record.isTrue("emailVerified")
        let metadata = record.object("metadata")
        user.created = record.moment("createdAt") ?? metadata?.moment("creationTime")
        user.lastLogin =
            record.moment("lastSignedInAt") ?? record.moment("lastLoginAt")
            ?? metadata?.moment("lastSignInTime")
        if let hash = record.text("passwordHash") {
            // An account that Firebase imported with the hash of another system has no usable hash here.
            guard let hash = SourceValue.base64(hash),
                let salt = SourceValue.base64(record.text("salt") ?? record.text("passwordSalt") ?? "")
            else { throw RecordRefusal(.passwordNotTaken, "passwordHash or its salt is not base64") }
            guard !hash.map(\.asciiLowercased).elementsEqual(Self.redacted) else {
                throw RecordRefusal(
                    .passwordNotTaken,
                    """
                    passwordHash says that it was redacted: whoever exports needs the role Firebase Authentication Admin, or \
                    --without-passwords leaves passwords out
                    """
                )
            }
            user.password = .firebase(hash: hash, salt: salt)
        }
        var identities = try record.identities("providerUserInfo")
        if identities == nil { identities = try record.identities("providerData") }
        for identity in identities ?? [] where !["password", "phone"].contains(identity.text("providerId")) {
            try user.takeIdentity(
                identity.text("providerId"),
                subject: identity.text("rawId") ?? identity.text("uid")
            )
        }
        user.takeFields(of: record, without: Self.known)
        for (name, text) in [
            ("email", record.text("email")), ("name", record.text("displayName")),
            ("photoUrl", record.text("photoUrl") ?? record.text("photoURL")),
            ("phoneNumber", record.text("phoneNumber")),
        ] {
            if let text { user.fields.append(name, .string(text)) }
        }
        return user
    }
}
