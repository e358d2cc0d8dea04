/// Where a session was opened, and with what, as the log of logins has it; nil for what it does not.
package struct SessionOrigin: Sendable {
    /// The address, as the service counts it.
    package let source: String?
    /// `User-Agent` of the request.
    package let userAgent: String?

    package init(source: String?, userAgent: String?) {
        self.source = source
        self.userAgent = userAgent
    }

    package static let unknown = SessionOrigin(source: nil, userAgent: nil)

    /// `source` and `userAgent`, for an object.
    package var members: [JSONObject.Member] {
        [
            .init("source", source.map(JSONValue.string) ?? .null),
            .init("userAgent", userAgent.map(JSONValue.string) ?? .null),
        ]
    }
}

/// A session of a list that tells where each was opened.
package protocol LocatedSession: Sendable {
    /// What it is called where it is not used.
    var id: String { get }
    /// Milliseconds since 1970 UTC.
    var created: Int64 { get }
    var origin: SessionOrigin { get set }
}

/// A session as its own user sees it.
package struct OwnSession: LocatedSession {
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
    package var origin = SessionOrigin.unknown

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
