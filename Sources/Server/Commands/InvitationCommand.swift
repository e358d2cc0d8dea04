import Administration
import ArgumentParser
import Vocabulary

struct InvitationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invitation",
        abstract: "Invitations: let people in where new users need one.",
        subcommands: [Create.self, List.self, Show.self, Send.self, Revoke.self]
    )

    /// The invitation that a command works on.
    struct IDArgument: ParsableArguments {
        @OptionGroup var application: ApplicationArgument

        @Argument(help: ArgumentHelp("The invitation's id.", valueName: "invitation"))
        var id: String
    }

    struct Create: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Invite somebody by an address, a telephone number or an identity at a provider.",
            discussion: """
                The link of an invitation by an address is mailed. With --no-send it is printed instead, this once, and \
                standard output has it and nothing else. An invitation by an identity has no link: the login of that \
                identity takes it. Properties are a file with a JSON object of their names and values.

                Examples:
                  federation invitation create demo --email ann@example.com
                  federation invitation create demo --email ann@example.com --role editors
                  federation invitation create demo --email ann@example.com --expires 30d
                  federation invitation create demo --phone +41791234567 --no-send
                  federation invitation create demo --provider facebook --subject 1022345
                """
        )

        @OptionGroup var application: ApplicationArgument

        @Option(help: "The address to invite.")
        var email: String?

        @Option(help: "The telephone number to invite, with + and the country's digits.")
        var phone: String?

        @Option(help: "The provider of the identity to invite.")
        var provider: String?

        @Option(help: "The person's id at the provider.")
        var subject: String?

        @Option(name: .customLong("app-id"), help: "The app that the id is of, where the provider has several.")
        var appID: String?

        @Option(name: .customLong("role"), help: "A role that the user gets; may be repeated.")
        var roles: [String] = []

        @Option(
            name: .customLong("properties-file"),
            help: "A file with values of properties, or - for standard input."
        )
        var propertiesFile: String?

        @Option(help: "How long it counts, from 1d to 90d. (default: 7d)")
        var expires: Lifetime?

        @Option(help: "The language of the mail, such as de.")
        var locale: String?

        @Flag(name: .customLong("no-send"), help: "Print the link in place of sending it.")
        var doesNotSend = false

        @OptionGroup var output: OutputOptions

        var inputFiles: [String] { [propertiesFile].compactMap(\.self) }

        func run(_ administration: Administration, by actor: Actor) async throws {
            var identity: JSONValue?
            if provider != nil || subject != nil {
                identity = .object(
                    JSONObject(present: [
                        "provider": provider.map(JSONValue.string), "appId": appID.map(JSONValue.string),
                        "subject": subject.map(JSONValue.string),
                    ])
                )
            }
            let document = JSONObject(present: [
                "email": email.map(JSONValue.string), "phone": phone.map(JSONValue.string), "identity": identity,
                "roles": roles.isEmpty ? nil : .array(roles.map(JSONValue.string)),
                "properties": try propertiesFile.map { try InputFile.json($0) },
                "expiresInSeconds": expires.map { .integer($0.seconds) }, "send": doesNotSend ? .bool(false) : nil,
                "locale": locale.map(JSONValue.string),
            ])
            let made = try await administration.invitations.create(.object(document), in: application.id, by: actor)
            guard !output.json, let link = made.body.object?["link"]?.string else { return try output.show(made) }
            try Terminal.printOnce(link, "This is the link of the invitation to \(application.id).")
        }
    }

    struct List: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "List invitations, the newest first.",
            discussion: """
                Examples:
                  federation invitation list demo
                  federation invitation list demo --state open
                """
        )

        @OptionGroup var application: ApplicationArgument

        @Option(help: "Those that are open, expired or accepted alone.")
        var state: String?

        @OptionGroup var page: PageOptions
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let invitations = try await page.read {
                try await administration.invitations.list(of: application.id, in: state, $0)
            }
            try output.show(
                invitations,
                [
                    Column("ID", "id", .id), Column("EMAIL", "email"), Column("PHONE", "phone"),
                    Column("IDENTITY", "identity"), Column("STATE", "state"), Column("ROLES", "roles"),
                    Column("INVITED BY", "invitedBy"), Column("CREATED", "created", .moment),
                    Column("EXPIRES", "expires", .moment), Column("SENT", "sent"),
                    Column("USER", "objectId", .id),
                ]
            )
        }
    }

    struct Show: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show an invitation.",
            discussion: """
                Example:
                  federation invitation show demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var invitation: IDArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(
                try await administration.invitations.read(invitation.id, of: invitation.application.id)
            )
        }
    }

    struct Send: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send an invitation once more, by another link; the former link ends.",
            discussion: """
                Example:
                  federation invitation send demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var invitation: IDArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(
                try await administration.invitations.send(invitation.id, in: invitation.application.id, by: actor)
            )
        }
    }

    struct Revoke: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take an invitation back that nobody has taken.",
            discussion: """
                Example:
                  federation invitation revoke demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
                """
        )

        @OptionGroup var invitation: IDArgument

        func run(_ administration: Administration, by actor: Actor) async throws {
            try await administration.invitations.revoke(invitation.id, in: invitation.application.id, by: actor)
            try Terminal.report("The invitation \(invitation.id) is taken back.")
        }
    }
}
