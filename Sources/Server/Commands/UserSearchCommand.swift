import Administration
import ArgumentParser
import Vocabulary

struct UserSearchCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Find users.",
        discussion: """
            Without an option, all users are listed.

            Examples:
              federation user search demo --email ann@example.com
              federation user search demo --property city=Berlin --limit 500 --json
              federation user search demo --status DISABLED --provider facebook
            """
    )

    @OptionGroup var application: ApplicationArgument

    @Option(help: ArgumentHelp("The user's objectId.", valueName: "id"))
    var objectID: String?

    @Option(help: "The user id that a provider gives to an app of the application.")
    var subject: String?

    @Option(help: "The e-mail.")
    var email: String?

    @Option(help: "A part of the name.")
    var name: String?

    @Option(help: "ENABLED, DISABLED, EMAIL_CONFIRMATION_PENDING or GUEST.")
    var status: String?

    @Option(help: "How they log in: the name of a provider, password or passkey.")
    var provider: String?

    @Option(help: ArgumentHelp("A declared property and its value.", valueName: "name=value"))
    var property: PropertyCondition?

    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions

    /// `city=Berlin`; the value may hold further equals signs.
    struct PropertyCondition: ExpressibleByArgument, Sendable {
        let name: String
        let value: String

        init?(argument: String) {
            guard let sign = argument.firstIndex(of: "="), sign != argument.startIndex else { return nil }
            name = String(argument[..<sign])
            value = String(argument[argument.index(after: sign)...])
        }
    }

    func run(_ administration: Administration, by actor: Actor) async throws {
        var search = UserSearch()
        search.objectID = objectID
        search.subject = subject
        search.email = email
        search.name = name
        search.status = status
        search.provider = provider
        search.property = property.map { ($0.name, $0.value) }
        let users = try await page.read { [search] in
            try await administration.users.list(of: application.id, matching: search, $0, by: actor)
        }
        try output.show(
            users,
            [
                Column("OBJECT ID", "objectId", .id), Column("NAME", "name"), Column("EMAIL", "email"),
                Column("STATUS", "userStatus", .id), Column("CREATED", "created", .moment),
                Column("LAST LOGIN", "lastLogin", .moment),
            ]
        )
    }
}
