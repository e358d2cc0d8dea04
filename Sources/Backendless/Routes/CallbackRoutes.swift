import Callbacks
import Applications
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// What providers call themselves, and the page that it sends people to.
struct CallbackRoutes {
    let deauthorizations: Deauthorizations
    let deletions: DeletionRequests
    let webhooks: PermissionWebhooks

    /// Bytes of the largest form; a signed request of the longest kind fits, however it is encoded.
    private static let formLimit = 65_536

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/oauth/:provider/deauthorize") { request, context, application in
            let provider = try context.provider()
            let call = try await Self.signedRequest(request)
            try await deauthorizations.deauthorize(
                call,
                by: provider,
                of: application,
                logger: context.logger
            )
            return .json(Array("{}".utf8))
        }
        routes.on(.post, "users/oauth/:provider/deletion") { request, context, application in
            let provider = try context.provider()
            let receipt = try await deletions.requestDeletion(
                try await Self.signedRequest(request),
                by: provider,
                at: try context.base(of: request),
                of: application,
                logger: context.logger
            )
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("url", receipt.statusURL)
                writer.member("confirmation_code", receipt.code)
            }
            return .json(writer)
        }
        routes.on(.get, "users/oauth/:provider/deletion/:code") { _, context, application in
            // A person looks at it, so what can be no provider's is a page, too.
            guard (try? context.provider()) != nil else { return DeletionPage.unknown }
            return try await status(context.parameters.get("code") ?? "", of: application)
        }
        routes.on(.get, "users/oauth/:provider/webhook") { request, context, application in
            try handshake(request, try context.provider(), application)
        }
        routes.on(.post, "users/oauth/:provider/webhook") { request, context, application in
            let provider = try context.provider()
            try await webhooks.receiveWebhook(
                try await request.wholeBody(upTo: webhooks.webhookLimit(of: provider, in: application)),
                signature: request.headers[.xHubSignature256],
                by: provider,
                of: application,
                logger: context.logger
            )
            return .text("")
        }
    }

    /// The one field of the form that counts; whatever a provider may send beside it must not lose a call.
    private static func signedRequest(_ request: Request) async throws(Failure) -> String {
        guard let text = try await request.formBody(upTo: formLimit).value("signed_request") else {
            throw Failure(.malformedRequest, "The form has no signed_request.")
        }
        return text
    }

    private func handshake(
        _ request: Request,
        _ provider: ProviderName,
        _ application: LoadedApplication
    ) throws(Failure) -> Response {
        let query = try FormFields(request.uri.query ?? "")
        return .text(
            try webhooks.confirmWebhook(
                mode: try query.value("hub.mode"),
                challenge: try query.value("hub.challenge"),
                verifyToken: try query.value("hub.verify_token"),
                by: provider,
                of: application
            )
        )
    }

    private func status(_ code: String, of application: LoadedApplication) async throws(Failure) -> Response {
        guard let status = try await deletions.deletionStatus(of: code, in: application) else {
            return DeletionPage.unknown
        }
        return DeletionPage.page(of: status)
    }
}

extension HTTPField.Name {
    fileprivate static let xHubSignature256 = HTTPField.Name(known: "X-Hub-Signature-256")
}
