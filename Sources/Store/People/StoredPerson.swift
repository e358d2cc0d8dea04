package import Vocabulary

/// Everything that is stored of one person.
package struct StoredPerson: Sendable {
    package let user: User
    /// In the order in which they came.
    package let identities: [Identity]
    /// Nil for who has no password.
    package let password: Password?
    /// What was given, in the order of the names; one that the application has no more is among them.
    package let roles: [String]
    /// The newest first, at most 1,000; ended ones are not among them.
    package var sessions: [Session]
    /// From the oldest on; those that were taken away are not among them.
    package let factors: [Factor]

    /// By how many credentials the person can log in.
    package var loginMethods: Int { identities.count + (password == nil ? 0 : 1) }

    /// What the person logs in with by password; the hash is for nobody to see.
    package struct Password: Sendable {
        package let login: String
        /// When it was chosen.
        package let changed: Int64
    }

    /// Who the person is at a provider.
    package struct Identity: Sendable {
        package let provider: String
        package let app: String
        package let subject: String
        package let created: Int64
        package let lastUsed: Int64
        package let grantedScopes: [String]
        /// What the person declined, or took back since.
        package let declinedScopes: [String]
        package let dataAccessExpires: Int64?
        /// When the provider said that our access to the person had ended, and by what we know it; nil while it has
        /// not.
        package let revoked: Int64?
        package let revokedBy: String?
        /// Whether a provider token is kept, when it ends if that is known, and when the provider was last asked about
        /// it.
        package let tokenKept: Bool
        package let tokenExpires: Int64?
        package let checked: Int64?
        /// What the mapping wrote last into properties that it writes until they are edited.
        package let written: JSONObject
    }

    /// A second factor, with what is secret of it as long as it may be hinted at.
    package struct Factor: Sendable {
        package let id: ObjectID
        package let kind: FactorKind
        package let label: String?
        package let secret: SealedSecret?
        /// Recovery codes that are left.
        package let codesLeft: Int
        package let created: Int64
        package let lastUsed: Int64?
    }

    /// A session; its token is nowhere, and its id is no way to it.
    package struct Session: LocatedSession {
        /// The first 16 bytes of the hash of the token's hash, in hex.
        package let id: String
        package let created: Int64
        package let lastSeen: Int64
        package let expires: Int64
        package var origin = SessionOrigin.unknown
    }
}
