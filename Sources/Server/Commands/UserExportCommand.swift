import Administration
import ArgumentParser
import Domain

struct UserExportCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export all data of a user, or all users.",
        discussion: """
            With a user, as JSON: the user, the identities with the values that the mapping wrote, the login name, \
            roles, sessions, and audit log entries about the user.

            Without a user, all users with properties, roles and logins. NDJSON is for `federation user import`. CSV \
            is for spreadsheets: a text that looks like a formula gets an apostrophe in front.

            Examples:
              federation user export demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60 -o ann.json
              federation user export demo --format csv -o users.csv
              federation user export demo --with-password-hashes --with-identities \\
                -o users.ndjson
            """
    )

    @OptionGroup var application: ApplicationArgument

    @Argument(help: ArgumentHelp("The objectId of a user. By default, all users.", valueName: "user"))
    var user: String?

    @Option(help: "The format for all users. (default: ndjson)")
    var format: UserExport.Format?

    @Flag(help: "Include password hashes, decrypted. Anyone with them can guess passwords.")
    var withPasswordHashes = false

    @Flag(help: "Include identities at providers.")
    var withIdentities = false

    @OptionGroup var file: OutputFileOption

    func validate() throws {
        guard user == nil || format == nil && !withPasswordHashes && !withIdentities else {
            throw ValidationError("--format and --with-… are only for all users. An export of one user has all data.")
        }
    }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        if let user {
            let document = try await administration.users.export(user, of: application.id, by: actor)
            return try file.write(document.indented)
        }
        let export = UserExport(
            format: format ?? .ndjson,
            withPasswordHashes: withPasswordHashes,
            withIdentities: withIdentities
        )
        var progress = Progress("users", isShown: file.path != nil || !Terminal.outputIsTerminal)
        let count = try await file.stream { write in
            try await administration.users.exportAll(of: application.id, export, by: actor) { part, users in
                try write(part)
                progress.show(users)
            }
        }
        progress.end()
        Terminal.say("\(count) users of \(application.id) are exported.")
    }
}

extension UserExport.Format: ExpressibleByArgument {}
