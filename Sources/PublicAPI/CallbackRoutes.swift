import Accounts
import Applications
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Pages

/// The routes of callbacks from providers, and of the page to which a provider sends a user who has requested deletion.
///
/// The routes have no rate limit (docs/limits.md).
struct CallbackRoutes {
    private let deauthorizations: Deauthorizations
    private let deletions: DeletionRequests
    private let webhooks: ProviderWebhooks
    private let address: PublicAddress

    init(_ useCases: UseCases) {
        (deauthorizations, deletions, webhooks) = (useCases.deauthorizations, useCases.deletions, useCases.webhooks)
        address = useCases.address
    }

    /// The maximum number of bytes in a form that a provider sends.
    ///
    /// Every signed request of a provider fits, in any encoding.
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
            // The response to a text that cannot be a provider's name is also a page, since a human reads it.
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
        "Facebook's deauthorize callback: a user has removed the app.",
        more: """
            Marks the identity as revoked and deletes its stored token. Its sessions are revoked if the application is \
            configured so. The response is always the same, even for unknown users and repeated callbacks.
            """,
        body: .signedRequest,
        .success("Taken.", .anyObject)
    )

    fileprivate static let requestDeletion = Operation(
        "requestDeletion",
        under: "facebook",
        "Facebook's data deletion callback: a user requests deletion.",
        more: """
            Erases at once, or after the application's eraseAfterDays. The same signed_request always returns the same \
            code and erases nothing twice.
            """,
        body: .signedRequest,
        .success(
            "Stored. Facebook shows the response to the user.",
            .object([
                "url": .string.format("uri").described("The status page of the deletion."),
                "confirmation_code": .string.pattern("^[A-Z2-7]{26}$"),
            ])
        )
    )

    fileprivate static let deletionStatus = Operation(
        "deletionStatus",
        under: "facebook",
        "The status page of a deletion, for the user. It contains no names.",
        parameters: [Parameter("code", in: .path, .string, "The confirmation_code.")],
        Reply(200, "The page.", headers: [.requestID], [.html]),
        or: [Reply(404, "A page that says that this request does not exist.", headers: [.requestID], [.html])]
    )

    fileprivate static let confirmWebhook = Operation(
        "confirmWebhook",
        under: "facebook",
        "The handshake with which Facebook verifies the address of the webhook.",
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
            Updates the permissions of identities. The field connected with the verb revoked is a deauthorization. \
            Other objects and fields are accepted and ignored. For each permission the newest event counts, in any \
            order of arrival.
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
        .success("Accepted. The body is empty.")
    )
}
