import Administration
import ArgumentParser
import Domain
import Encodings
import Store

struct UserImportCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import users from another system.",
        discussion: """
            Users keep passwords, identities and, if they are UUIDs, ids. Sessions and tokens are not imported. \
            Existing users are not changed, so you can import the same file again. Records that cannot become users \
            are refused with line and reason. So are records with an unread member that looks like a credential, a \
            hash or an identity. If records are refused, the command exits with 65. Continue an interrupted import \
            with --resume. Logins continue meanwhile. docs/migrating has a page for each source.

            Examples:
              federation user import demo users.json --from firebase \\
                --hash-config hash.json --facebook-app 1234567890 --dry-run
              federation user import demo Users.csv --from backendless \\
                --report refused.ndjson
              federation user import demo people.csv --from csv \\
                --mapping mapping.json --field passwordHash=pw
              federation user import demo Users.csv --from backendless \\
                --identity facebook=facebookId,app=1234567890
            """
    )

    @OptionGroup var application: ApplicationArgument

    @OptionGroup var source: ImportSourceOptions

    @Flag(help: "Check the whole file, and write nothing.")
    var dryRun = false

    @Flag(help: "Continue an interrupted import of this file, or start one.")
    var resume = false

    @Flag(help: "Start again despite an interrupted import of this file.")
    var restart = false

    @Option(
        help: ArgumentHelp("Write refused records to this file, one JSON object per line.", valueName: "file"),
        completion: .file()
    )
    var report: String?

    @Option(help: "Records per batch, 1 to 50000.")
    var batch = 5000

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (1...50_000).contains(batch) else { throw ValidationError("--batch must be 1 to 50000.") }
        if resume, restart { throw ValidationError("Give --resume or --restart, not both.") }
    }

    var inputFiles: [String] { source.inputFiles }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let file = try ImportFile(source.file)
        let report = try ImportReport(report, of: "Refused records", on: file)
        var progress = Progress("records", isShown: true)
        var bytesRead = 0
        var job = try source.job(on: file, into: application) { bytesRead += $0 }
        job.former = resume ? .resumed : restart ? .begunAnew : .refused
        job.batch = batch
        var listener = ImportListener()
        listener.progress = { counts, done in
            progress.show(done, "\(file.percent(of: bytesRead)) % read: \(counts.words)")
        }
        listener.refused = report.add
        listener.waiting = { Terminal.say("Waiting for the last batch of the interrupted import.") }
        let summary =
            dryRun
            ? try await administration.userImport.check(job, telling: listener)
            : try await administration.userImport.run(job, by: actor, telling: listener)
        progress.end()
        try report.end()
        try show(summary)
        if summary.counts.refused > 0 { throw Exit.dataError }
    }

    private func show(_ summary: ImportSummary) throws {
        try output.show(
            .object(JSONObject([.init("dryRun", .bool(dryRun))] + summary.json.members)),
            [
                OutputOptions.Section(
                    member: "identities",
                    columns: [Column("PROVIDER", "provider", .id), Column("RECORDS", "records", .id)]
                ),
                OutputOptions.Section(
                    member: "unmapped",
                    columns: [Column("FIELD", "field", .id), Column("RECORDS", "records", .id)]
                ),
            ]
        )
    }
}
