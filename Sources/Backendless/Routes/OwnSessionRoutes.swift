import HTTP
import Hummingbird
import Logins
import Vocabulary

/// What a user can do with the own sessions: see them, and end them.
struct OwnSessionRoutes {
    let sessions: Sessions

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/sessions") { request, _, application in
            let sessions = try await sessions.sessions(ofSession: request.userToken, in: application)
            var writer = JSONWriter(capacity: 64 + 384 * sessions.count)
            writer.array { writer in
                for session in sessions { Self.write(session, into: &writer) }
            }
            return .json(writer)
        }
        routes.on(.delete, "users/sessions") { request, _, application in
            let count = try await sessions.endOtherSessions(ofSession: request.userToken, in: application)
            return Self.ended(count)
        }
        routes.on(.delete, "users/sessions/:sessionId") { request, context, application in
            let id = context.parameters.get("sessionId") ?? ""
            try await sessions.endSession(id, ofSession: request.userToken, in: application)
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
