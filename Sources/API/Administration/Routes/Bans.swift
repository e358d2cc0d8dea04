import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let bans: [AdministrationRoute] = [
        .init(.get, "applications/{application}/bans", .viewer, query: .page) { call in
            .page(try await call.administration.bans.list(of: call["application"], call.page))
        },
        .init(.delete, "applications/{application}/bans/{objectId}", .editor) { call in
            try await call.administration.bans.lift(of: call["objectId"], in: call["application"], by: call.actor)
            return .done
        },
    ]
}
