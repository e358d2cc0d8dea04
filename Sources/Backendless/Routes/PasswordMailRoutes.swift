import Accounts
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import PublicAPI

/// The calls of apps that restore a password, confirm an e-mail address or undo a change; `LinkPages` has the pages
/// behind the links.
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
        // Client SDKs spell it either way.
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
    /// The members of a body that carry a second factor beside a new password.
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
    /// The user's identity in the path; some client SDKs percent-encode the identity, and some do not.
    fileprivate var identity: String {
        PercentEncoding.decode(parameters["identity"] ?? "", plusIsSpace: false) ?? ""
    }
}

extension Parameter {
    fileprivate static let identity = Parameter(
        "identity",
        in: .path,
        .string,
        "The e-mail address that the person logs in with."
    )
}

extension Operation {
    fileprivate static let restorePassword = Operation(
        "restorePassword",
        under: "user",
        "Has a link mailed under which to choose another password.",
        more: """
            The answer is the same whether there is such an account or not, unless the application has \
            tellUnknownLogins.
            """,
        parameters: [.identity],
        .success("The mail is on its way if there is such an account; the body is empty."),
        or: [.notFound]
    )

    fileprivate static let resendConfirmation = Operation(
        "resendConfirmation",
        under: "user",
        "Has the link mailed once more that confirms an e-mail address.",
        more: "The answer is the same whether there is such an account or not.",
        parameters: [.identity],
        .success("The mail is on its way if it is needed; the body is empty."),
        or: [.badRequest]
    )

    fileprivate static let resendEmailConfirmation = resendConfirmation.again(
        "resendEmailConfirmation",
        "The same as /users/resendconfirmation/{identity}, as Flutter's SDK spells it.",
        more: "The answer is the same whether there is such an account or not."
    )

    fileprivate static let createEmailConfirmationURL = Operation(
        "createEmailConfirmationURL",
        under: "server",
        """
        Gives a server the link that confirms a user's address, to send it by a mail of its own; any key where \
        clientKeys has confirmationURL.
        """,
        parameters: [
            Parameter("identity", in: .path, .string, "The e-mail address that the user logs in with, or the objectId.")
        ],
        .success("The address of the page.", .object(["confirmationURL": .string.format("uri")])),
        or: [.badRequest, .forbidden, .notFound]
    )

    fileprivate static let resetPassword = Operation(
        "resetPassword",
        under: "user",
        "Sets a password by the token of a mailed link, for apps with a page of their own.",
        more: """
            Ends all sessions and all other links of the user, and removes its identities unless keepIdentities is \
            true.
            """,
        body: Content(
            .all([
                .linkFactorAnswer,
                .anyObject.adding(
                    ["token": .string, "password": .string.length(upTo: 256)],
                    optional: [
                        "keepIdentities": .boolean.nullable.described(
                            "Whether the person has said that the identities of the account are their own."
                        )
                    ]
                ),
            ])
        ),
        .success("Done; the body is empty."),
        or: [.conflict, .unprocessable]
    )

    fileprivate static let undoChange = Operation(
        "undoChange",
        under: "user",
        "Undoes what has become of an account by the token of the link in a notice, for apps with a page of their own.",
        more: """
            Gives the account back the address to which the notice went, with the new password, and the identities of \
            then. Ends all sessions, and all links but those of earlier notices.
            """,
        body: Content(
            .all([.linkFactorAnswer, .anyObject.adding(["token": .string, "password": .string.length(upTo: 256)])])
        ),
        .success(
            "Done.",
            .object([
                "notRestored": .strings.described(
                    """
                    Providers of identities that are another account's by now, or in whose place the account has \
                    another.
                    """
                )
            ])
        ),
        or: [.conflict, .unprocessable]
    )

    fileprivate static let confirmEmail = Operation(
        "confirmEmail",
        under: "user",
        "Confirms an e-mail address by the token of a mailed link, for apps with a page of their own.",
        more: """
            Somebody else may have registered the address: for an account with a password either password or \
            newPassword has to come along. A new password is a reset.
            """,
        body: Content(
            .all([
                .linkFactorAnswer,
                .anyObject.adding(
                    ["token": .string],
                    optional: [
                        "password": .string.nullable.length(upTo: 256).described(
                            "The password that was chosen for the account."
                        ),
                        "newPassword": .string.nullable.length(upTo: 256).described(
                            "Another one, which takes its place."
                        ),
                        "keepIdentities": .boolean.nullable.described(
                            """
                            With newPassword: whether the person has said that the identities of the account are their \
                            own.
                            """
                        ),
                    ]
                ),
            ])
        ),
        .success("Done; the body is empty."),
        or: [.conflict, .unprocessable]
    )
}

extension Schema {
    fileprivate static let linkFactorAnswer = anyObject.adding(optional: [
        "pending": .string.nullable,
        "factorId": .uuid.nullable,
        "code": .string.nullable.described(
            "Six digits, or a recovery code in any case, with or without its hyphens. A number counts like its text."
        ),
        "credential": .anyObject.nullable.described("AuthenticationResponseJSON (WebAuthn level 3 §5.1)."),
    ]).described(
        """
        The second factor of an account that has one: of the second request, with the pending that \
        second_factor_required has given. A code with the factor that it is of, or the credential of a passkey.
        """
    ).named("LinkFactorAnswer")
}
