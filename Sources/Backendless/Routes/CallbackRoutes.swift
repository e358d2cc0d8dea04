import Applications
import Callbacks
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// What providers call themselves, and the page that it sends people to.
struct CallbackRoutes {
    let deauthorizations: Deauthorizations
    let deletions: DeletionRequests
    let webhooks: PermissionWebhooks
    let address: PublicAddress

    /// Bytes of the largest form: whatever a provider signs fits, however it is encoded.
    private static let formLimit = 65_536

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/oauth/:provider/deauthorize") { request, context, application in
            let provider = try context.provider()
            try await deauthorizations.deauthorize(
                try await request.formBody(upTo: Self.formLimit),
                by: provider,
                of: application,
                logger: context.logger
            )
            return .json(Array("{}".utf8))
        }
        routes.on(.post, "users/oauth/:provider/deletion") { request, context, application in
            let provider = try context.provider()
            let form = try await request.formBody(upTo: Self.formLimit)
            let base = try context.base(of: request).url(at: address, for: application)
            let receipt = try await deletions.requestDeletion(
                form,
                by: provider,
                of: application,
                statusURL: base.map { base in { code in "\(base)/users/oauth/\(provider)/deletion/\(code)" } },
                logger: context.logger
            )
            var writer = JSONWriter()
            writer.value(.object(receipt))
            return .json(writer)
        }
        routes.on(.get, "users/oauth/:provider/deletion/:code") { request, context, application in
            let page = DeletionPage(WebPage(of: application.application, for: request.headers))
            // A person looks at it, so what can be no provider's is a page, too.
            guard (try? context.provider()) != nil else { return page.unknown() }
            let code = context.parameters.get("code") ?? ""
            return page.response(to: try await deletions.deletionStatus(of: code, in: application))
        }
        routes.on(.get, "users/oauth/:provider/webhook") { request, context, application in
            let provider = try context.provider()
            let question = try FormFields(request.uri.query ?? "")
            return .text(try webhooks.confirmWebhook(question, by: provider, of: application))
        }
        routes.on(.post, "users/oauth/:provider/webhook") { request, context, application in
            let provider = try context.provider()
            try await webhooks.receiveWebhook(
                try await request.wholeBody(upTo: webhooks.webhookLimit(of: provider, in: application)),
                header: { name in HTTPField.Name(name).flatMap { request.headers[$0] } },
                by: provider,
                of: application,
                logger: context.logger
            )
            return .text("")
        }
    }
}
