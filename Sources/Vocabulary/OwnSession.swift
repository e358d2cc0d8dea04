/// A session as its own user sees it.
package struct OwnSession: Sendable {
    /// What the session is called where it is not used: it opens nothing.
    package let id: String
    /// Milliseconds since 1970, as all moments here.
    package let created: Int64
    package let lastSeen: Int64
    package let expires: Int64
    /// By what it was opened; nil for sessions of long ago.
    package let provider: String?
    /// Whether it is the one that asks.
    package let isCurrent: Bool

    package init(
        id: String,
        created: Int64,
        lastSeen: Int64,
        expires: Int64,
        provider: String?,
        isCurrent: Bool
    ) {
        self.id = id
        self.created = created
        self.lastSeen = lastSeen
        self.expires = expires
        self.provider = provider
        self.isCurrent = isCurrent
    }
}
