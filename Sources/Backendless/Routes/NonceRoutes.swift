import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The routes that issue nonces for logins with an ID token.
struct NonceRoutes {
    let nonces: Nonces

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/nonce", .makeNonce) { _, _, application in
            try reply(by: .facebookPath, for: application)
        }
        routes.on(.post, "users/oauth/:provider/nonce", .makeNonceOf) { _, context, application in
            try reply(by: try context.provider(of: application), for: application)
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

extension Operation {
    fileprivate static let makeNonce = Operation(
        "makeNonce",
        under: "login",
        "Creates a nonce for one login with an ID token.",
        more: """
            For applications with the policy `serverIssued`, and usable for others. The app passes it to the Facebook \
            SDK, which puts it into the ID token. It is single-use, valid for ten minutes, for this application and \
            the provider `facebook`.
            """,
        .success(
            "The nonce.",
            as: "Nonce",
            .object(["nonce": .string.pattern("^[A-Za-z0-9_-]{43}$"), "expires": .moment])
        ),
        or: [.badRequest]
    )

    fileprivate static let makeNonceOf = makeNonce.again(
        "makeNonceOf",
        "The same for the provider in the path.",
        more: "A nonce is only valid for its provider."
    )
}
