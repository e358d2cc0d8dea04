import Accounts
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// Login by e-mail address and password, and the question whether a password is right.
struct PasswordRoutes {
    let serverLogin: ServerLogin
    let passwordLogins: PasswordLogins
    let reauthentication: Reauthentication

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/login") { request, context, application in
            let body = try await request.jsonObject()
            if let id = body.present("objectId"), body.present("login") == nil {
                let signedIn = try await serverLogin.logIn(
                    as: id.string.flatMap { ObjectID($0) },
                    by: context.server,
                    previousToken: request.userToken,
                    to: application,
                    logger: context.logger
                )
                return .signedIn(signedIn)
            }
            let login = PasswordLogin(
                login: try PasswordBody.login(in: body),
                password: try PasswordBody.password("password", in: body),
                // A dead token on a login is what SDKs send after a session has ended; it is no reason to refuse.
                previousToken: request.userToken,
                client: context.client(trustedDevice: try body.text("trustedDevice")),
                source: context.source
            )
            let signedIn = try await passwordLogins.logIn(login, to: application, logger: context.logger)
            return .signedIn(signedIn)
        }
        let refusals = routes.refusals
        // The spelling is that of client SDKs (docs/protocols/backendless.md §1.3).
        routes.on(.post, "users/verifypassowrd") { request, context, application in
            let body = try await request.jsonObject()
            let isValid = try await reauthentication.verifyPassword(
                try PasswordBody.password("password", in: body),
                ofSession: request.userToken,
                from: context.source,
                in: application
            )
            if !isValid { refusals.log(.loginInvalid, request.facts(application), in: context) }
            var writer = JSONWriter(capacity: 24)
            writer.object { $0.member("valid", .bool(isValid)) }
            return .json(writer)
        }
    }
}
