package import Domain
package import Encodings

/// All stored data of one user.
package struct StoredUser: Sendable {
    package let user: User
    /// The identities in the order of their creation.
    package let identities: [Identity]
    /// The password login; nil for a user without a password.
    package let password: Password?
    /// The roles that were given to the user, in the order of their names, including roles that the application no
    /// longer has.
    package let roles: [String]
    /// The id of the user for clients of Firebase; nil if it is the object id.
    package let uid: String?
    /// The custom claims of the user's ID tokens, as the text of a JSON object; nil for none.
    package let claims: String?
    /// The unexpired sessions, the newest first, at most 1,000.
    package var sessions: [Session]
    /// The second factors that have not been removed, the oldest first.
    package let factors: [Factor]

    /// The number of identities and passwords by which the user can log in.
    package var loginMethods: Int { identities.count + (password == nil ? 0 : 1) }

    /// The password login of the user; operators never see the hash.
    package struct Password: Sendable {
        package let login: String
        /// The time at which the password was set, in milliseconds since 1970.
        package let changed: Int64
    }

    /// An identity of the user at a provider.
    package struct Identity: Sendable {
        package let provider: String
        package let app: String
        package let subject: String
        package let created: Int64
        package let lastUsed: Int64
        package let grantedScopes: [String]
        /// Permissions that the user declined, or revoked since.
        package let declinedScopes: [String]
        package let dataAccessExpires: Int64?
        /// When the app's access to the user was revoked, as the provider reported; nil if it was not.
        ///
        /// `revokedBy` says how the service learned of it.
        package let revoked: Int64?
        package let revokedBy: String?
        /// Whether a provider token is stored.
        ///
        /// `tokenExpires` is its expiry, if known; `checked` is when the provider was last asked about it.
        package let tokenKept: Bool
        package let tokenExpires: Int64?
        package let checked: Int64?
        /// The values that the mapping last wrote to those properties that it writes until they are edited.
        package let written: JSONObject
    }

    /// A second factor.
    ///
    /// The encrypted secret, if the factor has one, serves to show operators a hint, such as a part of the e-mail
    /// address.
    package struct Factor: Sendable {
        package let id: ObjectID
        package let kind: FactorKind
        package let label: String?
        package let secret: EncryptedSecret?
        /// The number of unused recovery codes.
        package let codesLeft: Int
        package let created: Int64
        package let lastUsed: Int64?
    }

    /// A session; its token is not stored, and its id gives no access.
    package struct Session: LocatedSession {
        /// The SHA-256 hash of the stored token hash, cut to 16 bytes and written in hex.
        package let id: String
        package let created: Int64
        package let lastSeen: Int64
        package let expires: Int64
        package var origin = SessionOrigin.unknown
    }
}
