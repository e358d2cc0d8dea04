import Logins
import HTTP
import Hummingbird
import Vocabulary

/// Nonces for logins with an ID token.
struct NonceRoutes {
    let nonces: Nonces

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/nonce") { _, _, application in
            let issued = try nonces.makeNonce(by: .facebookPath, for: application)
            var writer = JSONWriter(capacity: 96)
            writer.object { writer in
                writer.member("nonce", issued.nonce.reveal())
                writer.member("expires", issued.expires)
            }
            return .json(writer)
        }
    }
}
