import Federation
import Hummingbird
import Identity

/// Restoring a password and confirming an e-mail address, as apps call them; the pages behind the links are `LinkPages`.
struct PasswordMailRoutes {
    let federation: Federation
    let trustedProxies: PeerAddress.TrustedProxies

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/restorepassword/:identity") { request, context, application in
            try await federation.restorePassword(
                of: context.identity,
                from: request.source(context, behind: trustedProxies),
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
                    from: request.source(context, behind: trustedProxies),
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
        routes.on(.post, "users/confirmemail") { request, context, application in
            let body = try await request.jsonObject()
            try await federation.confirmEmail(
                by: try body.text("token") ?? "",
                in: application,
                logger: context.logger
            )
            return .empty
        }
    }
}

extension APIContext {
    /// The user as the path names it; some client SDKs percent-encode it and some do not.
    fileprivate var identity: String {
        PercentEncoding.decode(parameters["identity"] ?? "", plusIsSpace: false) ?? ""
    }
}
