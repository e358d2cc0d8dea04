import Applications
import HTTP
import Hummingbird
import Logins
import Vocabulary

/// Nonces for logins with an ID token.
struct NonceRoutes {
    let nonces: Nonces

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/nonce") { _, _, application in
            try reply(by: .facebookPath, for: application)
        }
        routes.on(.post, "users/oauth/:provider/nonce") { _, context, application in
            try reply(by: try context.provider(), for: application)
        }
    }

    private func reply(by provider: ProviderName, for application: LoadedApplication) throws(Failure) -> Response {
        let issued = try nonces.makeNonce(by: provider, for: application)
        var writer = JSONWriter(capacity: 96)
        writer.object { writer in
            writer.member("nonce", issued.nonce.reveal())
            writer.member("expires", issued.expires)
        }
        return .json(writer)
    }
}
