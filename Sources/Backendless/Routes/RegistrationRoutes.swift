import Accounts
import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import PublicAPI

/// The routes by which users and guests create their own accounts.
struct RegistrationRoutes {
    let registrations: Registrations

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/register", .register) { request, context, application in
            var body = try await request.jsonObject(limits: .record)
            let invitation = try body.takeInvitation(to: application.application)
            let user = try await registrations.register(
                UserRecord(body: body),
                invitation: invitation,
                token: request.userSession,
                from: context.source,
                in: application,
                logger: context.logger
            )
            return .written(user)
        }
        routes.on(.post, "users/register/guest", .registerGuest) { request, context, application in
            let bytes = try await request.jsonBodyIfAny(upTo: Request.bodyLimit)
            let body = try bytes.map { bytes throws(Failure) in try JSONObject(body: bytes) }
            let guest = try await registrations.registerGuest(
                invitation: try body?.text("invitation").map { InvitationToken($0) },
                from: context.source,
                in: application,
                logger: context.logger
            )
            return .signedIn(guest)
        }
    }
}

extension Operation {
    fileprivate static let register = Operation(
        "register",
        under: "user",
        "Registers an account with an e-mail address and a password.",
        more: """
            With the objectId and the session of a guest, the guest becomes the user. No session is opened. \
            `invitation` is the token of an invitation's link, unless the application has a property with that name.
            """,
        parameters: [.previousUserToken],
        body: .userRecord,
        .ownUser,
        or: [.forbidden, .conflict, .unprocessable]
    )

    fileprivate static let registerGuest = Operation(
        "registerGuest",
        under: "user",
        "Creates a guest with a session.",
        body: Content(.anyObject.adding(optional: ["invitation": .invitation]), isRequired: false),
        .signedIn,
        or: [.forbidden, .unprocessable]
    )
}
