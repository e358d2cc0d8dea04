import Accounts
import Applications
import HTTP
import Hummingbird
import Vocabulary

/// Accounts that people make for themselves.
struct RegistrationRoutes {
    let registrations: Registrations

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/register") { request, context, application in
            var body = try await request.jsonObject(limits: .record)
            let invitation = try body.takeInvitation(to: application.application)
            let user = try await registrations.register(
                UserRecord(body: body),
                invitation: invitation,
                token: request.userToken,
                from: context.source,
                in: application,
                logger: context.logger
            )
            return .written(user)
        }
        routes.on(.post, "users/register/guest") { request, context, application in
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
