import Administration
import ArgumentParser
import Domain
import Encodings
import Import
import Store

struct IdentityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity",
        abstract: "Manage identities of users: import.",
        subcommands: [Import.self]
    )

    struct Import: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give identities to users who are here already.",
            discussion: """
                Each record has objectId or a confirmed email, which name the user, and subject: the user's id at the \
                provider. The next login with this identity then finds the user. Records whose user or identity does not fit are \
                refused with line and reason, and the command exits with 65. So are all records with the same subject, \
                if they name several users. You can import the same file again.

                Examples:
                  federation identity import demo pairs.csv --provider facebook \\
                    --app 1234567890 --dry-run
                  federation identity import demo pairs.ndjson --from ndjson \\
                    --provider facebook --app 1234567890 --ids-of parse
                """
        )

        @OptionGroup var application: ApplicationArgument

        @Argument(help: "The file. It is read several times, so it cannot be a pipe.", completion: .file())
        var file: String

        @Option(help: "The provider of the identities.")
        var provider: ProviderName

        @Option(help: ArgumentHelp("The app to which the ids at the provider belong.", valueName: "id"))
        var app: String?

        @Option(help: "The form of the file: csv or ndjson.")
        var from = ImportSource.csv

        @Option(help: "The source from which the users were imported, if the file has the source's ids.")
        var idsOf: ImportSource?

        @Flag(help: "Check the whole file, and write nothing.")
        var dryRun = false

        @Option(
            help: ArgumentHelp("Write refused records to this file, one JSON object per line.", valueName: "file"),
            completion: .file()
        )
        var report: String?

        @OptionGroup var output: OutputOptions

        var inputFiles: [String] { [file] }

        func validate() throws {
            guard from == .csv || from == .ndjson else { throw ValidationError("--from must be csv or ndjson.") }
            if let app, ProviderAppID(app) == nil { throw ValidationError("--app must be the id of an app.") }
        }

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
            let file = try ImportFile(file)
            let report = try ImportReport(report, of: "Refused records", on: file)
            var progress = Progress("records", isShown: true)
            var job = IdentityImportJob(
                application: application.id,
                form: from,
                provider: provider,
                fileHash: try file.digest(),
                open: { try file.open() }
            )
            job.app = app.flatMap(ProviderAppID.init)
            job.former = idsOf
            var listener = ImportListener()
            listener.progress = { counts, done in progress.show(done, counts.words) }
            listener.refused = report.add
            let counts = try await administration.identityImport.run(
                job,
                isDryRun: dryRun,
                by: actor,
                telling: listener
            )
            progress.end()
            try report.end()
            try output.show(.object(JSONObject([.init("dryRun", .bool(dryRun))] + counts.json.members)), [])
            if counts.refused > 0 { throw Exit.dataError }
        }
    }
}

extension ImportCounts {
    /// The numbers of imported, existing and refused records, as a text for the progress line of a command.
    var words: String { "\(imported) imported, \(existing) existing, \(refused) refused" }
}
