import Accounts
import HTTP
import Hummingbird
import Vocabulary

/// Restoring a password, confirming an e-mail address and undoing a change, as apps call them; the pages behind the
/// links are `LinkPages`.
struct PasswordMailRoutes {
    let passwordReset: PasswordReset
    let confirmation: EmailConfirmation
    let reversal: ChangeReversal

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/restorepassword/:identity") { request, context, application in
            try await passwordReset.restorePassword(
                of: context.identity,
                from: context.source,
                in: application,
                logger: context.logger
            )
            return .empty
        }
        // Client SDKs spell it either way.
        for path in ["users/resendconfirmation/:identity", "users/resendEmailConfirmation/:identity"] {
            routes.on(.post, path) { request, context, application in
                try await confirmation.resendConfirmation(
                    to: context.identity,
                    from: context.source,
                    in: application,
                    logger: context.logger
                )
                return .empty
            }
        }
        routes.on(.post, "users/createEmailConfirmationURL/:identity") { _, context, application in
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
        routes.on(.post, "users/resetpassword") { request, context, application in
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
        routes.on(.post, "users/undochange") { request, context, application in
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
        routes.on(.post, "users/confirmemail") { request, context, application in
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
    /// The members of a body by which a second factor is shown with a password.
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
    /// The user as the path names it; some client SDKs percent-encode it and some do not.
    fileprivate var identity: String {
        PercentEncoding.decode(parameters["identity"] ?? "", plusIsSpace: false) ?? ""
    }
}
