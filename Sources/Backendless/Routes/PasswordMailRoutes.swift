import Accounts
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import PublicAPI

/// The routes about mailed links that reset a password, confirm an e-mail address or undo a change.
///
/// Apps request such a link, or send its token to carry out what the link is for. `LinkPages` has the pages to which
/// the links lead.
struct PasswordMailRoutes {
    let passwordReset: PasswordReset
    let confirmation: EmailConfirmation
    let reversal: ChangeReversal

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/restorepassword/:identity", .restorePassword) { request, context, application in
            try await passwordReset.restorePassword(
                of: context.identity,
                from: context.source,
                in: application,
                logger: context.logger
            )
            return .empty
        }
        // Client SDKs use both spellings.
        for (path, operation) in [
            ("users/resendconfirmation/:identity", Operation.resendConfirmation),
            ("users/resendEmailConfirmation/:identity", .resendEmailConfirmation),
        ] {
            routes.on(.post, path, operation) { request, context, application in
                try await confirmation.resendConfirmation(
                    to: context.identity,
                    from: context.source,
                    in: application,
                    logger: context.logger
                )
                return .empty
            }
        }
        routes.on(.post, "users/createEmailConfirmationURL/:identity", .createEmailConfirmationURL) {
            _,
            context,
            application in
            let url = try await confirmation.makeConfirmationURL(
                for: context.identity,
                by: context.server,
                from: context.source,
                in: application
            )
            var writer = JSONWriter(capacity: 160)
            writer.object { $0.member("confirmationURL", url.reveal()) }
            return .json(writer)
        }
        routes.on(.post, "users/resetpassword", .resetPassword) { request, context, application in
            let body = try await request.jsonObject()
            try await passwordReset.resetPassword(
                by: try body.text("token") ?? "",
                to: try PasswordBody.password("password", in: body),
                keepingIdentities: try body.flag("keepIdentities"),
                showing: try LinkFactorAnswer(body, context),
                in: application,
                logger: context.logger
            )
            return .empty
        }
        routes.on(.post, "users/undochange", .undoChange) { request, context, application in
            let body = try await request.jsonObject()
            let lost = try await reversal.undoChange(
                by: try body.text("token") ?? "",
                to: try PasswordBody.password("password", in: body),
                showing: try LinkFactorAnswer(body, context),
                in: application,
                logger: context.logger
            )
            var writer = JSONWriter(capacity: 64)
            writer.object { $0.member("notRestored", .array(lost.map { .string($0.text) })) }
            return .json(writer)
        }
        routes.on(.post, "users/confirmemail", .confirmEmail) { request, context, application in
            let body = try await request.jsonObject()
            let keepsIdentities = try body.flag("keepIdentities")
            try await confirmation.confirmEmail(
                by: try body.text("token") ?? "",
                password: try ConfirmedPassword(
                    known: try body.text("password"),
                    new: try body.text("newPassword"),
                    keepingIdentities: keepsIdentities
                ),
                showing: try LinkFactorAnswer(body, context),
                in: application,
                logger: context.logger
            )
            return .empty
        }
    }
}

extension LinkFactorAnswer {
    /// Reads the second factor from the body of a request that also sets a new password.
    fileprivate init(_ body: JSONObject, _ context: APIContext) throws(Failure) {
        let shown = try body.text("pending").map { (pending) throws(Failure) in
            Shown(
                pending: pending,
                factor: try body.text("factorId").flatMap { ObjectID($0) },
                response: try FactorBody.response(in: body)
            )
        }
        self.init(shown, keyLabel: context.apiKey?.label, source: context.source)
    }
}

extension APIContext {
    /// The login name in the path, percent-decoded.
    ///
    /// Some client SDKs percent-encode the login name, and some do not.
    fileprivate var identity: String {
        PercentEncoding.decode(parameters["identity"] ?? "", plusIsSpace: false) ?? ""
    }
}

extension Parameter {
    fileprivate static let identity = Parameter(
        "identity",
        in: .path,
        .string,
        "The e-mail address that the user logs in with."
    )
}

extension Operation {
    fileprivate static let restorePassword = Operation(
        "restorePassword",
        under: "user",
        "Mails a link to choose a new password.",
        more: """
            The response is the same whether the account exists or not, unless the application has allowAccountEnumeration.
            """,
        parameters: [.identity],
        .success("The mail will be sent if the account exists. The body is empty."),
        or: [.notFound]
    )

    fileprivate static let resendConfirmation = Operation(
        "resendConfirmation",
        under: "user",
        "Mails the link that confirms an e-mail address again.",
        more: "The response is the same whether the account exists or not.",
        parameters: [.identity],
        .success("The mail will be sent if it is needed. The body is empty."),
        or: [.badRequest]
    )

    fileprivate static let resendEmailConfirmation = resendConfirmation.again(
        "resendEmailConfirmation",
        "The same as /users/resendconfirmation/{identity}, in the spelling of the Flutter SDK.",
        more: "The response is the same whether the account exists or not."
    )

    fileprivate static let createEmailConfirmationURL = Operation(
        "createEmailConfirmationURL",
        under: "server",
        """
        Creates the link that confirms a user's address, for a server that sends its own mails. Needs a server key, \
        unless apiKeyRights has confirmationURL.
        """,
        parameters: [
            Parameter("identity", in: .path, .string, "The e-mail address that the user logs in with, or the objectId.")
        ],
        .success("The link to the page.", .object(["confirmationURL": .string.format("uri")])),
        or: [.badRequest, .forbidden, .notFound]
    )

    fileprivate static let resetPassword = Operation(
        "resetPassword",
        under: "user",
        "Sets a password with the token of a mailed link, for apps with their own page.",
        more: """
            Revokes all sessions and all other links of the user, and removes the user's identities unless \
            keepIdentities is true.
            """,
        body: Content(
            .all([
                .linkFactorAnswer,
                .anyObject.adding(
                    ["token": .string, "password": .string.length(upTo: 256)],
                    optional: [
                        "keepIdentities": .boolean.nullable.described(
                            "Whether the user has confirmed that the identities of the account are their own."
                        )
                    ]
                ),
            ])
        ),
        .success("Done. The body is empty."),
        or: [.conflict, .unprocessable]
    )

    fileprivate static let undoChange = Operation(
        "undoChange",
        under: "user",
        "Restores an account with the token of the link in a notice, for apps with their own page.",
        more: """
            Restores the address to which the notice was sent, with the new password, and the identities of that time. \
            Revokes all sessions, and all links except those of earlier notices.
            """,
        body: Content(
            .all([.linkFactorAnswer, .anyObject.adding(["token": .string, "password": .string.length(upTo: 256)])])
        ),
        .success(
            "Done.",
            .object([
                "notRestored": .strings.described(
                    "Providers of identities that now belong to another account, or that another identity has replaced."
                )
            ])
        ),
        or: [.conflict, .unprocessable]
    )

    fileprivate static let confirmEmail = Operation(
        "confirmEmail",
        under: "user",
        "Confirms an e-mail address with the token of a mailed link, for apps with their own page.",
        more: """
            Someone else may have registered the address. So an account with a password needs password or newPassword. \
            A new password is a reset.
            """,
        body: Content(
            .all([
                .linkFactorAnswer,
                .anyObject.adding(
                    ["token": .string],
                    optional: [
                        "password": .string.nullable.length(upTo: 256).described(
                            "The current password of the account."
                        ),
                        "newPassword": .string.nullable.length(upTo: 256).described(
                            "A new password, which replaces it."
                        ),
                        "keepIdentities": .boolean.nullable.described(
                            """
                            With newPassword: whether the user has confirmed that the identities of the account are \
                            their own.
                            """
                        ),
                    ]
                ),
            ])
        ),
        .success("Done. The body is empty."),
        or: [.conflict, .unprocessable, .timeout]
    )
}

extension Schema {
    fileprivate static let linkFactorAnswer = anyObject.adding(optional: [
        "pending": .string.nullable,
        "factorId": .uuid.nullable,
        "code": .string.nullable.described(
            "Six digits, or a recovery code in upper or lower case, with or without hyphens. A number is also accepted."
        ),
        "credential": .anyObject.nullable.described("AuthenticationResponseJSON (WebAuthn level 3 §5.1)."),
    ]).described(
        """
        The second factor of the account, in the second request, with pending from second_factor_required. Either a \
        code with its factor, or the credential of a passkey.
        """
    ).named("LinkFactorAnswer")
}
