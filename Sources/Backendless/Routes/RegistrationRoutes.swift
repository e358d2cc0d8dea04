import Accounts
import HTTP
import Hummingbird
import Vocabulary

/// Accounts that people make for themselves.
struct RegistrationRoutes {
    let registrations: Registrations

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/register") { request, context, application in
            let record = UserRecord(body: try await request.jsonObject(limits: .record))
            let user = try await registrations.register(
                record,
                token: request.userToken,
                from: context.source,
                in: application,
                logger: context.logger
            )
            return .written(user)
        }
        routes.on(.post, "users/register/guest") { request, context, application in
            let guest = try await registrations.registerGuest(
                from: context.source,
                in: application,
                logger: context.logger
            )
            return .signedIn(guest)
        }
    }
}
