import Administration
import ArgumentParser
import Domain

struct UserExportCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print everything that is stored of a person, or all users.",
        discussion: """
            With a user, as JSON: the user, its identities with what the mapping wrote, what it logs in with by password, \
            its roles, its sessions, and the entries of the audit log that name it.

            Without one, all users, with their properties, roles and logins. NDJSON is what `federation user import` reads \
            back; CSV is for spreadsheets: a text that one of them would take for a formula gets an apostrophe in front.

            Examples:
              federation user export demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60 -o ann.json
              federation user export demo --format csv -o users.csv
              federation user export demo --with-password-hashes --with-identities \\
                -o users.ndjson
            """
    )

    @OptionGroup var application: ApplicationArgument

    @Argument(help: ArgumentHelp("The objectId of one user; without it, all users.", valueName: "user"))
    var user: String?

    @Option(help: "How all users are written. (default: ndjson)")
    var format: UserExport.Format?

    @Flag(help: "With the hashes of passwords, opened: whoever has them can guess at passwords.")
    var withPasswordHashes = false

    @Flag(help: "With the identities at providers.")
    var withIdentities = false

    @OptionGroup var file: OutputFileOption

    func validate() throws {
        guard user == nil || format == nil && !withPasswordHashes && !withIdentities else {
            throw ValidationError("--format and --with-… are for all users; an export of one user has everything.")
        }
    }

    func run(_ administration: Administration, by actor: Actor) async throws {
        if let user {
            let person = try await administration.users.export(user, of: application.id, by: actor)
            return try file.write(person.indented)
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
