import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The route by which an app gets a link to its user's account page.
struct AccountLinkRoutes {
    let links: AccountLinks

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/account/link", .createAccountLink) { request, _, application in
            let (url, expires) = try await links.makeLink(ofSession: request.userSession, in: application)
            var writer = JSONWriter(capacity: 320)
            writer.object { writer in
                writer.member("url", url.reveal())
                writer.member("expires", expires)
            }
            return .json(writer)
        }
    }
}

extension Operation {
    fileprivate static let createAccountLink = Operation(
        "createAccountLink",
        under: "user",
        "Creates a single-use link to the account page of the session's user.",
        marks: .session,
        .success(
            "The link.",
            .object(["url": .string.format("uri").described("Single-use."), "expires": .moment]).named("AccountLink")
        ),
        or: [.badRequest, .notFound]
    )
}
