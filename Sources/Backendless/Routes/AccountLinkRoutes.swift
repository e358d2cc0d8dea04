import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The route by which an app gets the address of its user's account page.
struct AccountLinkRoutes {
    let links: AccountLinks

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/account/link", .createAccountLink) { request, _, application in
            let (url, expires) = try await links.makeLink(ofSession: request.userToken, in: application)
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
        "The address by which the user of the session opens the account page, once.",
        marks: .session,
        .success(
            "The address.",
            .object(["url": .string.format("uri").described("Counts once."), "expires": .moment]).named("AccountLink")
        ),
        or: [.badRequest, .notFound]
    )
}
