package import Encodings

/// The source and the user agent from which a session was opened, read from the log of logins.
///
/// Each is nil if the log does not have it.
package struct SessionOrigin: Sendable {
    /// The network address of the source: an IPv4 address, or the /64 of an IPv6 address.
    package let source: String?
    /// The header `User-Agent` of the request that opened the session.
    package let userAgent: String?

    package init(source: String?, userAgent: String?) {
        self.source = source
        self.userAgent = userAgent
    }

    package static let unknown = SessionOrigin(source: nil, userAgent: nil)

    /// The members `source` and `userAgent` of a JSON object.
    package var members: [JSONObject.Member] {
        [
            .init("source", source.map(JSONValue.string) ?? .null),
            .init("userAgent", userAgent.map(JSONValue.string) ?? .null),
        ]
    }
}

/// A session in a list that shows where each session was opened.
package protocol LocatedSession: Sendable {
    /// The session's public id, which is not its token.
    var id: String { get }
    /// The time at which the session was opened, in milliseconds since 1970 UTC.
    var created: Int64 { get }
    var origin: SessionOrigin { get set }
}

/// A session as its own user sees it.
package struct OwnSession: LocatedSession {
    /// The session's public id, which is no credential.
    package let id: String
    /// The time at which the session was opened, in milliseconds since 1970 UTC, like all times of this type.
    package let created: Int64
    package let lastSeen: Int64
    package let expires: Int64
    /// The provider by which the session was opened; nil for old sessions.
    package let provider: String?
    /// Whether the current request was sent with this session's token.
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
