import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The routes by which a user lists and revokes their own sessions.
struct OwnSessionRoutes {
    let sessions: Sessions

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/sessions", .listSessions) { request, _, application in
            let sessions = try await sessions.sessions(ofSession: request.userSession, in: application)
            var writer = JSONWriter(capacity: 64 + 384 * sessions.count)
            writer.array { writer in
                for session in sessions { Self.write(session, into: &writer) }
            }
            return .json(writer)
        }
        routes.on(.delete, "users/sessions", .endOtherSessions) { request, _, application in
            let count = try await sessions.endOtherSessions(ofSession: request.userSession, in: application)
            return Self.ended(count)
        }
        routes.on(.delete, "users/sessions/:sessionId", .endSession) { request, context, application in
            let id = context.parameters.get("sessionId") ?? ""
            try await sessions.endSession(id, ofSession: request.userSession, in: application)
            return Self.ended(1)
        }
    }

    private static func write(_ session: OwnSession, into writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", session.id)
            writer.member("created", session.created)
            writer.member("lastSeen", session.lastSeen)
            writer.member("expires", session.expires)
            writer.member("provider", session.provider)
            writer.member("source", session.origin.source)
            writer.member("userAgent", session.origin.userAgent)
            writer.member("current", .bool(session.isCurrent))
        }
    }

    private static func ended(_ count: Int) -> Response {
        var writer = JSONWriter(capacity: 32)
        writer.object { $0.member("ended", Int64(count)) }
        return .json(writer)
    }
}

extension Operation {
    fileprivate static let listSessions = Operation(
        "listSessions",
        under: "session",
        "Lists the user's own valid sessions, at most 1000.",
        marks: .session,
        .success("The session of this request first, then newest first.", .array(of: .ownSession))
    )

    fileprivate static let endOtherSessions = Operation(
        "endOtherSessions",
        under: "session",
        "Revokes all sessions of the user except that of this request.",
        marks: .session,
        .success("How many were revoked.", .endedSessions)
    )

    fileprivate static let endSession = Operation(
        "endSession",
        under: "session",
        "Revokes one of the user's own sessions.",
        marks: .session,
        parameters: [Parameter("sessionId", in: .path, .string.pattern("^[0-9a-f]{32}$"), "The id from the list.")],
        .success("The session is revoked.", .endedSessions),
        or: [.notFound]
    )
}

extension Schema {
    fileprivate static let ownSession = object([
        "id": .string.pattern("^[0-9a-f]{32}$"),
        "created": .moment,
        "lastSeen": .moment,
        "expires": .moment,
        "provider": .string.nullable.described("The login method that opened the session."),
        "source": .string.nullable.described(
            "The address from which it was opened. null if the login log does not have it, and for logins by a server."
        ),
        "userAgent": .string.nullable.described(
            "The header User-Agent of the login, at most 200 bytes. null if the login log does not have it."
        ),
        "current": .boolean.described("Whether it is the session of this request."),
    ]).named("OwnSession")

    fileprivate static let endedSessions = object(["ended": .integer]).named("EndedSessions")
}
