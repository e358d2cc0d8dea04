import HTTP
import Hummingbird
import Logins
import Vocabulary

/// Signed tokens.
struct TokenRoutes {
    let tokens: TokenIssuer

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/token") { request, _, application in
            let token = try await tokens.signedToken(ofSession: request.userToken, in: application)
            var writer = JSONWriter(capacity: 1024)
            writer.object { writer in
                writer.member("token", token.text.reveal())
                writer.member("expires", token.expires)
            }
            return .json(writer)
        }
    }
}
