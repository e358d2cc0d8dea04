import Applications
import HTTP
import Hummingbird
import Logins
import Vocabulary

/// Token check and logout.
struct SessionRoutes {
    let sessions: Sessions

    func mount(on routes: ApplicationRoutes) {
        let refusals = routes.refusals
        routes.on(.get, "users/isvalidusertoken/:token") { _, context, application in
            // Only the path counts: a client that asks whether its token lives sends the same one as header.
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
        routes.on(.get, "users/logout") { request, _, application in
            // Some client SDKs log out in front of every login, and take any refusal for a login that failed. A token
            // that is there and dead is told as such, so that an app can see that its person was logged out already.
            if request.headers[.userToken] != nil {
                try await sessions.signOut(request.userToken, of: application)
            }
            return .empty
        }
    }
}
