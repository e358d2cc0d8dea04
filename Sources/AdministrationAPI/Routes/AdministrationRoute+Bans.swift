import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    static let bans: [AdministrationRoute] = [
        .init(
            .get,
            "applications/{application}/bans",
            .viewer,
            query: .page,
            Operation(
                "listBans",
                """
                Identities that are banned although their user is gone or has lost them; nothing tells whose they \
                are.
                """,
                .page(of: .ban, "A page of bans, one for each identity.")
            )
        ) { call in
            .page(try await call.administration.bans.list(of: call["application"], call.page))
        },
        .init(
            .delete,
            "applications/{application}/bans/{objectId}",
            .editor,
            Operation("liftBan", "Lets the identities that a disabled user had log in again, as somebody new.", .done)
        ) { call in
            try await call.administration.bans.lift(of: call["objectId"], in: call["application"], by: call.actor)
            return .done
        },
    ]
}

extension Schema {
    static let ban = Schema.object([
        "objectId": .string.described("The user who is gone, or has lost the identity."),
        "created": .moment,
        "expires": .moment,
    ]).named("Ban")
}
