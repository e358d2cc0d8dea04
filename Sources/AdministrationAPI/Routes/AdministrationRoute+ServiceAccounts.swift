import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    static let serviceAccounts: [AdministrationRoute] = [
        .init(
            .get,
            accounts,
            .viewer,
            Operation(
                "listServiceAccounts",
                "Lists the backends that administer the users with Firebase's Admin SDKs, by their names.",
                .value(.list(of: .serviceAccount), "All service accounts.")
            )
        ) { call in
            .page(try await call.administration.serviceAccounts.list(of: call["application"]))
        },
        .init(
            .post,
            accounts,
            .owner,
            factor: .within5Minutes,
            Operation(
                "createServiceAccount",
                "Creates a service account with a new key.",
                more: "Whoever has the key can read, change and delete every user, and log in as any.",
                body: Content(.newServiceAccount, examples: ["made": #"{"name": "backend"}"#]),
                .created(.createdServiceAccount, "The service account, with the key file.", tagged: false),
                or: [.conflict]
            )
        ) { call in
            let made = try await call.administration.serviceAccounts.create(
                of: call["application"],
                call.document(),
                by: call.actor
            )
            return .created(made, at: ["applications", call["application"], "serviceAccounts", made.text("name")])
        },
        .init(
            .delete,
            accounts + "/{name}",
            .owner,
            factor: .within5Minutes,
            losing: "the service account, whose key no backend can use any more",
            Operation("withdrawServiceAccount", "Withdraws a service account and its access tokens.", .done)
        ) { call in
            try await call.administration.serviceAccounts.withdraw(
                call["name"],
                of: call["application"],
                by: call.actor
            )
            return .done
        },
    ]

    private static let accounts = "applications/{application}/serviceAccounts"
}

extension Schema {
    static let serviceAccount = Schema.object([
        "name": .serviceAccountName,
        "email": .string.described("The name of the account in what it signs."),
        "keyId": .string.described("The id of its key."),
        "created": .moment,
    ]).named("ServiceAccount")

    static let newServiceAccount = Schema.object(["name": .serviceAccountName]).named("NewServiceAccount")

    static let createdServiceAccount =
        serviceAccount
        .adding(["key": .string.secret.described("The key file for the Admin SDKs. Its private key is not stored.")])
        .named("CreatedServiceAccount")

    static let serviceAccountName = Schema.string.pattern(FirebaseSettings.namePattern)
}
