import Administration
import ArgumentParser
import Domain
import Encodings

struct MappingPreviewCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Show what a login would write, without writing it.",
        discussion: """
            The profile comes from a file, or from the provider by an access token. For each entry of the mapping it \
            shows the new value, the current value, why the entry is skipped, and which permission is missing.

            Examples:
              federation mapping preview demo --profile ann.json --scopes email
              federation mapping preview demo --profile ann.json --mapping next.json \\
                --user 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
              federation mapping preview demo --access-token-file token
            """
    )

    @OptionGroup var application: ApplicationArgument
    @OptionGroup var provider: ProviderArgument

    @Option(
        help: ArgumentHelp(
            "A profile as the provider sends it, as JSON, or - for standard input.",
            valueName: "file"
        ),
        completion: .file(extensions: ["json"])
    )
    var profile: String?

    @Option(
        help: ArgumentHelp("Granted permissions, separated by commas. By default, all.", valueName: "list")
    )
    var scopes: String?

    @OptionGroup var accessToken: AccessTokenOptions

    @Option(help: ArgumentHelp("The Facebook app of the access token.", valueName: "id"))
    var appID: String?

    @Option(
        help: ArgumentHelp("A mapping to test instead of the stored one.", valueName: "file"),
        completion: .file(extensions: ["json"])
    )
    var mapping: String?

    @Option(
        help: ArgumentHelp("A client mapping.", valueName: "file"),
        completion: .file(extensions: ["json"])
    )
    var clientMapping: String?

    @Option(help: ArgumentHelp("The objectId of an existing user.", valueName: "user"))
    var user: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (profile == nil) == accessToken.isGiven else {
            throw ValidationError("Give one of --profile, --access-token-file and --access-token-stdin.")
        }
        guard [profile, mapping, clientMapping].count(where: { $0 == "-" }) + (accessToken.stdin ? 1 : 0) <= 1 else {
            throw ValidationError("Standard input can be read once only.")
        }
        if scopes != nil, profile == nil {
            throw ValidationError("--scopes is only for --profile: a token has its own permissions.")
        }
        if appID != nil, profile != nil { throw ValidationError("--app-id is only for an access token.") }
    }

    var inputFiles: [String] { [profile, mapping, clientMapping, accessToken.file].compactMap(\.self) }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let token = try accessToken.read("The access token")
        let request = JSONObject(present: [
            "profile": try profile.map(InputFile.json),
            "scopes": scopes.map { .array($0.split { ", ".contains($0) }.map { .string(String($0)) }) },
            "accessToken": token.map { .string($0.reveal()) },
            "appId": appID.map(JSONValue.string),
            "mapping": try mapping.map(InputFile.json),
            "fieldsMapping": try clientMapping.map(InputFile.json),
            "user": user.map(JSONValue.string),
        ])
        try output.show(
            try await administration.mappingPreviews.preview(
                for: provider.name,
                of: application.id,
                .object(request),
                by: actor
            ),
            [
                OutputOptions.Section(
                    member: "entries",
                    columns: [
                        Column("MAPPING", "mapping", .id), Column("#", "position", .id), Column("FROM", "from"),
                        Column("TO", "to", .id), Column("OUTCOME", "outcome", .id), Column("VALUE", "value", .rare),
                        Column("CURRENT", "current", .rare), Column("PERMISSION", "permission", .rare),
                        Column("WHY", "why", .rare),
                    ]
                )
            ]
        )
    }
}
