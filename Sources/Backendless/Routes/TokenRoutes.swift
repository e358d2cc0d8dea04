import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The route that issues signed tokens.
struct TokenRoutes {
    let tokens: TokenIssuer

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/token", .createSignedToken) { request, _, application in
            let token = try await tokens.signedToken(ofSession: request.userSession, in: application)
            var writer = JSONWriter(capacity: 1024)
            writer.object { writer in
                writer.member("token", token.text.reveal())
                writer.member("expires", token.expires)
            }
            return .json(writer)
        }
    }
}

extension Operation {
    fileprivate static let createSignedToken = Operation(
        "createSignedToken",
        under: "session",
        "Creates a signed token for the session's user, for the application's other services.",
        more: "Only if the application has turned it on, otherwise tokens_off.",
        marks: .session,
        .success(
            "The token.",
            .object(["token": .string.described("A JWT, signed with ES256."), "expires": .moment]).named("SignedToken")
        ),
        or: [.badRequest]
    )
}
