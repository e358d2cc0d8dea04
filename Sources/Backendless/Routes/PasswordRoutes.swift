import Accounts
import Applications
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import PublicAPI

/// The routes that log in by e-mail address and password, and that check a password.
struct PasswordRoutes {
    let serverLogin: ServerLogin
    let passwordLogins: PasswordLogins
    let reauthentication: Reauthentication

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/login", .logIn) { request, context, application in
            let body = try await request.jsonObject()
            if let id = body.present("objectId"), body.present("login") == nil {
                let signedIn = try await serverLogin.logIn(
                    as: id.string.flatMap { ObjectID($0) },
                    by: context.server,
                    previousSession: request.userSession,
                    to: application,
                    logger: context.logger
                )
                return .signedIn(signedIn)
            }
            let login = PasswordLogin(
                login: try PasswordBody.login(in: body),
                password: try PasswordBody.password("password", in: body),
                // With a login, SDKs still send the token of the former session. So an invalid token is no reason to
                // refuse the login.
                previousSession: request.userSession,
                client: context.client(trustedDevice: try body.text("trustedDevice")),
                source: context.source
            )
            let signedIn = try await passwordLogins.logIn(login, to: application, logger: context.logger)
            return .signedIn(signedIn)
        }
        let refusals = routes.refusals
        // Client SDKs use this misspelled path (docs/protocols/backendless.md §1.3).
        routes.on(.post, "users/verifypassowrd", .verifyPassword) { request, context, application in
            let body = try await request.jsonObject()
            let isValid = try await reauthentication.verifyPassword(
                try PasswordBody.password("password", in: body),
                ofSession: request.userSession,
                from: context.source,
                in: application
            )
            if !isValid {
                let facts = RefusalLog.Facts(
                    application: application.application.id,
                    session: request.headers[.userToken]
                )
                refusals.log(.loginInvalid, facts, in: context)
            }
            var writer = JSONWriter(capacity: 24)
            writer.object { $0.member("valid", .bool(isValid)) }
            return .json(writer)
        }
    }
}

extension Operation {
    fileprivate static let logIn = Operation(
        "logIn",
        under: "login",
        "Logs a user in with e-mail address and password, or for a server by objectId.",
        more: """
            Without the right password the response does not reveal whether the account exists. With objectId only, \
            and a server key, the user with that id is logged in.
            """,
        parameters: [.previousUserToken],
        body: Content(
            .anyObject.adding(optional: [
                "login": .string.described("The e-mail address, in upper or lower case. A number is also accepted."),
                "password": .string.length(upTo: 256),
                "objectId": .uuid,
                "trustedDevice": .trustedDevice,
            ])
        ),
        .signedIn,
        or: [.forbidden, .timeout]
    )

    fileprivate static let verifyPassword = Operation(
        "verifyPassword",
        under: "session",
        "Verifies the password of the session's user.",
        more: "In the spelling of client SDKs. It counts as an attempt, like a login.",
        marks: .session,
        body: Content(.anyObject.adding(optional: ["password": .string])),
        .success("Whether the password is right.", .object(["valid": .boolean])),
        or: [.timeout]
    )
}
