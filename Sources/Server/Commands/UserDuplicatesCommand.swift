import Administration
import ArgumentParser
import Domain
import Encodings

struct UserDuplicatesCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "duplicates",
        abstract: "Find users who have the same values, and may be the same human.",
        discussion: """
            Lists groups of users with the same e-mail address, or with the same values of the properties in --by. \
            Texts are compared without regard to case. The command changes nothing. It reads the whole users table.

            Examples:
              federation user duplicates demo
              federation user duplicates demo --by name,birthday --json
            """
    )

    @OptionGroup var application: ApplicationArgument

    @Option(help: ArgumentHelp("The compared properties, separated by commas.", valueName: "properties"))
    var by = "email"

    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let (id, names) = (application.id, by)
        let groups = try await page.read { page in
            try await administration.users.duplicates(of: id, by: names, page, by: actor)
        }
        guard !output.json else { return try output.show(groups, []) }
        try output.show(Page(items: groups.items.flatMap(Self.rows), next: groups.next), Self.columns)
    }

    /// Returns the users of a group, each with the values that the group shares.
    private static func rows(_ group: JSONValue) -> [JSONValue] {
        let values = group.object?["shared"]?.object?.members.compactMap(\.value.string) ?? []
        let shared = [
            JSONObject.Member("shared", .string(values.joined(separator: ", "))),
            JSONObject.Member("count", group.object?["count"] ?? .null),
        ]
        return (group.object?["users"]?.array ?? []).map { user in
            .object(JSONObject(shared + (user.object?.members ?? [])))
        }
    }

    private static let columns = [
        Column("SHARED", "shared", .id), Column("USERS", "count", .id), Column("USER", "objectId", .id),
        Column("STATUS", "userStatus", .id),
        Column("CONFIRMED", "emailVerified", .id), Column("CREATED", "created", .moment),
        Column("LAST LOGIN", "lastLogin", .moment), Column("LOGIN METHODS", "loginMethods"),
    ]
}
