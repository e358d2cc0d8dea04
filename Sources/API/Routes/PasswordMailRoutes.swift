import Federation
import Hummingbird
import Vocabulary

/// Restoring a password, confirming an e-mail address and undoing a change, as apps call them; the pages behind the links are `LinkPages`.
struct PasswordMailRoutes {
    let federation: Federation

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/restorepassword/:identity") { request, context, application in
            try await federation.restorePassword(
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
                try await federation.resendConfirmation(
                    to: context.identity,
                    from: context.source,
                    in: application,
                    logger: context.logger
                )
                return .empty
            }
        }
        routes.on(.post, "users/createEmailConfirmationURL/:identity") { _, context, application in
            let url = try await federation.makeConfirmationURL(
                for: context.identity,
                by: context.server,
                in: application
            )
            var writer = JSONWriter(capacity: 160)
            writer.object { $0.member("confirmationURL", url.reveal()) }
            return .json(writer)
        }
        routes.on(.post, "users/resetpassword") { request, context, application in
            let body = try await request.jsonObject()
            try await federation.resetPassword(
                by: try body.text("token") ?? "",
                to: try PasswordBody.password("password", in: body),
                keepingIdentities: try body.flag("keepIdentities"),
                in: application,
                logger: context.logger
            )
            return .empty
        }
        routes.on(.post, "users/undochange") { request, context, application in
            let body = try await request.jsonObject()
            let lost = try await federation.undoChange(
                by: try body.text("token") ?? "",
                to: try PasswordBody.password("password", in: body),
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
            try await federation.confirmEmail(
                by: try body.text("token") ?? "",
                password: try ConfirmedPassword(
                    known: try body.text("password"),
                    new: try body.text("newPassword"),
                    keepingIdentities: keepsIdentities
                ),
                from: context.source,
                in: application,
                logger: context.logger
            )
            return .empty
        }
    }
}

extension ConfirmedPassword {
    /// What a client or a person sends; nil for neither of the two.
    ///
    /// - Throws: `malformed_request` for both.
    init?(known: String?, new: String?, keepingIdentities: Bool) throws(Failure) {
        switch (known.flatMap(Self.present), new.flatMap(Self.present)) {
        case (nil, nil): return nil
        case (let password?, nil): self = .known(password)
        case (nil, let password?): self = .new(password, keepingIdentities: keepingIdentities)
        case (_?, _?):
            throw Failure(
                .malformedRequest,
                "password is the one that was chosen, newPassword another: send one of them."
            )
        }
    }

    private static func present(_ text: String) -> Secret? { text.isEmpty ? nil : Secret(text) }
}

extension APIContext {
    /// The user as the path names it; some client SDKs percent-encode it and some do not.
    fileprivate var identity: String {
        PercentEncoding.decode(parameters["identity"] ?? "", plusIsSpace: false) ?? ""
    }
}
