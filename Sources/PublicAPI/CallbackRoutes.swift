import Accounts
import Applications
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Pages

/// The routes of providers' callbacks, and the page that providers send users to.
///
/// The routes have no rate limit (docs/limits.md).
struct CallbackRoutes {
    private let deauthorizations: Deauthorizations
    private let deletions: DeletionRequests
    private let webhooks: PermissionWebhooks
    private let address: PublicAddress

    init(_ useCases: UseCases) {
        (deauthorizations, deletions, webhooks) = (useCases.deauthorizations, useCases.deletions, useCases.webhooks)
        address = useCases.address
    }

    /// The largest form in bytes: every signed request fits, in any encoding.
    private static let formLimit = 65_536

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/oauth/:provider/deauthorize", .deauthorize) { request, context, application in
            let provider = try context.provider()
            try await deauthorizations.deauthorize(
                try await request.formBody(upTo: Self.formLimit),
                by: provider,
                of: application,
                logger: context.logger
            )
            return .json(Array("{}".utf8))
        }
        routes.on(.post, "users/oauth/:provider/deletion", .requestDeletion) { request, context, application in
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
        routes.on(.get, "users/oauth/:provider/deletion/:code", .deletionStatus) { request, context, application in
            let page = DeletionPage(WebPage(of: application.application, for: request.headers))
            // A person looks at it, so what can be no provider's is a page, too.
            guard (try? context.provider()) != nil else { return page.unknown() }
            let code = context.parameters.get("code") ?? ""
            return page.response(to: try await deletions.deletionStatus(of: code, in: application))
        }
        routes.on(.get, "users/oauth/:provider/webhook", .confirmWebhook) { request, context, application in
            let provider = try context.provider()
            let question = try FormFields(request.uri.query ?? "")
            return .text(try webhooks.confirmWebhook(question, by: provider, of: application))
        }
        routes.on(.post, "users/oauth/:provider/webhook", .receiveWebhook) { request, context, application in
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

extension Content {
    fileprivate static let signedRequest = Content(
        .anyObject.adding([
            "signed_request": .string.length(upTo: 16384).described(
                "HMAC-SHA256 under the app secret and the payload, both in base64url, with a dot between them."
            )
        ]),
        as: "application/x-www-form-urlencoded"
    )
}

extension Operation {
    fileprivate static let deauthorize = Operation(
        "deauthorize",
        under: "facebook",
        "Facebook's deauthorize callback: a person has removed the app.",
        more: """
            Marks the identity as revoked and forgets its kept token; its sessions end if the application says so. \
            Answers the same whether the person is known or not, and however often it comes.
            """,
        body: .signedRequest,
        .success("Taken.", .anyObject)
    )

    fileprivate static let requestDeletion = Operation(
        "requestDeletion",
        under: "facebook",
        "Facebook's data deletion callback: a person wants their data deleted.",
        more: """
            Erases at once, or after the application's eraseAfterDays. The same signed_request has the same code for \
            ever and erases nothing twice.
            """,
        body: .signedRequest,
        .success(
            "Written down; what Facebook shows the person.",
            .object([
                "url": .string.format("uri").described("Where the person sees how far it is."),
                "confirmation_code": .string.pattern("^[A-Z2-7]{26}$"),
            ])
        )
    )

    fileprivate static let deletionStatus = Operation(
        "deletionStatus",
        under: "facebook",
        "A page for a person: how far the deletion of their data is. It names nobody.",
        parameters: [Parameter("code", in: .path, .string, "The confirmation_code.")],
        Reply(200, "The page.", headers: [.requestID], [.html]),
        or: [Reply(404, "A page that says that there is no such request.", headers: [.requestID], [.html])]
    )

    fileprivate static let confirmWebhook = Operation(
        "confirmWebhook",
        under: "facebook",
        "The handshake with which Facebook makes sure of the webhook's address.",
        parameters: [
            Parameter("hub.mode", in: .query, .oneOf("subscribe"), "`subscribe`.", isRequired: true),
            Parameter("hub.challenge", in: .query, .string.pattern("^[0-9]{1,32}$"), "The reply.", isRequired: true),
            Parameter(
                "hub.verify_token",
                in: .query,
                .string,
                "The application's webhookVerifyToken.",
                isRequired: true
            ),
        ],
        Reply(
            200,
            "The challenge.",
            headers: [.requestID],
            [Content(.string.examples("1158201444"), as: "text/plain")]
        ),
        or: [.badRequest, .forbidden]
    )

    fileprivate static let receiveWebhook = Operation(
        "receiveWebhook",
        under: "facebook",
        "Facebook's webhook of the object permissions.",
        more: """
            Permissions of identities come and go with it; the field connected with the verb revoked is a \
            deauthorization. Other objects and fields are taken and ignored. Of the events of one permission the \
            newest counts, however often and in whatever order they come.
            """,
        parameters: [
            Parameter(
                "X-Hub-Signature-256",
                in: .header,
                .string.pattern("^sha256=[0-9a-fA-F]{64}$"),
                "HMAC-SHA256 of the body's bytes under the app secret.",
                isRequired: true
            )
        ],
        body: Content(.anyObject, takesAnyType: true),
        .success("Taken; the body is empty.")
    )
}
