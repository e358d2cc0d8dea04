import HTTP
import Hummingbird
import Logins
import Vocabulary

/// Where an app gets the address by which its user opens the account page.
struct AccountLinkRoutes {
    let links: AccountLinks

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/account/link") { request, _, application in
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
