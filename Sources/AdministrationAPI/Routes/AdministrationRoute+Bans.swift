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
                "Lists banned identities of erased users and unlinked identities, without their subjects.",
                .page(of: .ban, "A page of bans, one for each identity.")
            )
        ) { call in
            .page(try await call.administration.bans.list(of: call["application"], call.page))
        },
        .init(
            .delete,
            "applications/{application}/bans/{objectId}",
            .editor,
            Operation(
                "liftBan",
                "Removes the bans of a disabled user's identities, which can then log in as new users.",
                .done
            )
        ) { call in
            try await call.administration.bans.lift(of: call["objectId"], in: call["application"], by: call.actor)
            return .done
        },
    ]
}

extension Schema {
    static let ban = Schema.object([
        "objectId": .string.described("The erased user, or the user who had the identity."),
        "created": .moment,
        "expires": .moment,
    ]).named("Ban")
}
