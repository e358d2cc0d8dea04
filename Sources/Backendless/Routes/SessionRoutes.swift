import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The routes that check a session token and log out.
struct SessionRoutes {
    let sessions: Sessions

    func mount(on routes: ApplicationRoutes) {
        let refusals = routes.refusals
        routes.on(.get, "users/isvalidusertoken/:token", .isValidUserToken) { _, context, application in
            // Only the token in the path counts. Clients also send a token as a header.
            let text = context.parameters.get("token")
            let isValid = try await sessions.isValid(
                text.flatMap { SessionToken(received: $0)?.key },
                of: application
            )
            if !isValid {
                let facts = RefusalLog.Facts(application: application.application.id, session: text)
                refusals.log(.sessionInvalid, facts, in: context)
            }
            var writer = JSONWriter(capacity: 8)
            writer.bool(isValid)
            return .json(writer)
        }
        routes.on(.get, "users/logout", .logout) { request, _, application in
            // Some client SDKs log out before every login and take any refusal for a failed login. So a missing token
            // is no error. An invalid token is an error, so that an app learns that its user was logged out already.
            if request.headers[.userToken] != nil {
                try await sessions.signOut(request.userSession, of: application)
            }
            return .empty
        }
    }
}

extension Operation {
    fileprivate static let isValidUserToken = Operation(
        "isValidUserToken",
        under: "session",
        "Checks whether a session is valid.",
        parameters: [
            Parameter(
                "token",
                in: .path,
                .string.notEmpty,
                "The session's user-token. Any text is allowed. An invalid token returns `false`."
            )
        ],
        .success("Whether the session is valid and its user is not disabled.", .boolean)
    )

    fileprivate static let logout = Operation(
        "logout",
        under: "session",
        "Revokes the session.",
        more: "Without the header user-token it does nothing. An invalid token fails with session_invalid.",
        marks: .mayHaveSession,
        .success("The session is revoked, or there was none. The body is empty.")
    )
}
