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
            // Only the token in the path counts: a client that checks its token also sends it as a header.
            let text = context.parameters.get("token")
            let isValid = try await sessions.isValid(
                text.flatMap { SessionToken(received: $0) },
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
            // Some client SDKs log out before every login and take any refusal for a failed login, so a missing token
            // is no error. An invalid token is one, so that an app learns that its user was logged out already.
            if request.headers[.userToken] != nil {
                try await sessions.signOut(request.userToken, of: application)
            }
            return .empty
        }
    }
}

extension Operation {
    fileprivate static let isValidUserToken = Operation(
        "isValidUserToken",
        under: "session",
        "Tells whether a session lives.",
        parameters: [
            Parameter(
                "token",
                in: .path,
                .string.notEmpty,
                "The session's user-token; any text is allowed, and what is no token is answered `false`."
            )
        ],
        .success("Whether the session lives and its user is not disabled.", .boolean)
    )

    fileprivate static let logout = Operation(
        "logout",
        under: "session",
        "Ends the session.",
        more: """
            Without the user-token header nobody is logged in, and there is nothing to do. A token that is dead or \
            malformed is session_invalid.
            """,
        marks: .mayHaveSession,
        .success("The session has ended, or there was none to end; the body is empty.")
    )
}
