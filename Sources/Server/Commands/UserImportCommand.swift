import Administration
import ArgumentParser
import Domain
import Encodings
import Glibc
import Import
import Mapping
import Passwords
import Store

struct UserImportCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Bring users along from another system.",
        discussion: """
            Users keep passwords, identities and, where they are UUIDs, ids; sessions and tokens stay behind. Whoever is there \
            already stays as is, so the same file can be read again. Records that cannot become users are refused, each with \
            its line and reason, and so are records with a member that looks like a credential, a hash or an identity and is \
            not read; the command ends with 65 then. An import that was interrupted goes on with --resume. \
            Logins go on meanwhile. docs/migrating has a page for each source.

            Examples:
              federation user import demo users.json --from firebase \\
                --hash-config hash.json --facebook-app 1234567890 --dry-run
              federation user import demo Users.csv --from backendless \\
                --report refused.ndjson
              federation user import demo people.csv --from csv \\
                --mapping mapping.json --field passwordHash=pw
            """
    )

    @OptionGroup var application: ApplicationArgument

    @Argument(help: "The file; it is read twice, so a pipe is none.", completion: .file())
    var file: String

    @Option(help: "Where it comes from.")
    var from: ImportSource

    @Option(
        help: ArgumentHelp(
            "Which fields go into which properties; without it, those of the same names.",
            valueName: "file"
        ),
        completion: .file(extensions: ["json"])
    )
    var mapping: String?

    @Option(
        help: ArgumentHelp(
            "What a field is called in plain CSV or NDJSON, such as passwordHash=pw; may be repeated.",
            valueName: "field=name"
        )
    )
    var field: [FieldName] = []

    @Option(
        help: ArgumentHelp("The Facebook app that the file's Facebook ids belong to.", valueName: "id")
    )
    var facebookApp: String?

    @Option(
        help: ArgumentHelp(
            "The same for another provider, such as google=ID; may be repeated.",
            valueName: "provider=id"
        )
    )
    var app: [ProviderAppName] = []

    @Option(
        help: ArgumentHelp("Leave the identities of a provider out; may be repeated.", valueName: "provider")
    )
    var withoutProvider: [ProviderName] = []

    @Option(
        help: ArgumentHelp(
            "Leave out, and count, a member that looks like a way to log in and is not read; may be repeated.",
            valueName: "name"
        )
    )
    var withoutMember: [String] = []

    @Flag(help: "Leave hashes of passwords out: everybody restores a password by mail.")
    var withoutPasswords = false

    @Option(
        help: ArgumentHelp("Firebase's parameters of hashes, as its console shows them.", valueName: "file"),
        completion: .file()
    )
    var hashConfig: String?

    @Flag(help: "Look at everything, and write nothing.")
    var dryRun = false

    @Flag(help: "Go on where an import of this file was interrupted; begin if there was none.")
    var resume = false

    @Flag(help: "Begin anew in spite of an import of this file that was interrupted.")
    var restart = false

    @Option(
        help: ArgumentHelp("Write refused records to this file, one JSON object a line.", valueName: "file"),
        completion: .file()
    )
    var report: String?

    @Option(help: "How many records are written together, 1 to 50000.")
    var batch = 5000

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (1...50_000).contains(batch) else { throw ValidationError("--batch is 1 to 50000.") }
        if resume, restart { throw ValidationError("Give one of --resume and --restart.") }
        if !field.isEmpty, from != .csv, from != .ndjson {
            throw ValidationError("--field goes with --from csv and --from ndjson: others have names of their own.")
        }
        if let facebookApp, ProviderAppID(facebookApp) == nil {
            throw ValidationError("--facebook-app is the id of an app.")
        }
        if (hashConfig != nil) != (from == .firebase && !withoutPasswords) {
            throw ValidationError(
                "--from firebase needs --hash-config or --without-passwords, and other sources have no use for it."
            )
        }
    }

    var inputFiles: [String] { [file] + [mapping, hashConfig].compactMap(\.self) }

    func run(_ administration: Administration, by actor: Actor) async throws {
        let file = try ImportFile(file)
        let report = try ImportReport(report, on: file)
        var progress = Progress("records", isShown: true)
        var bytesRead = 0
        var job = ImportJob(
            application: application.id,
            source: from,
            options: try options(),
            fileHash: try file.digest()
        ) {
            try file.open { bytesRead += $0 }
        }
        job.firebase = try hashConfig.map { try FirebaseScryptParameters(file: $0) }
        job.former = resume ? .resumed : restart ? .begunAnew : .refused
        job.batch = batch
        var listener = ImportListener()
        listener.progress = { counts, done in
            let percent = file.bytes == 0 ? 100 : min(100, 100 * bytesRead / file.bytes)
            let sum = "\(counts.imported) imported, \(counts.existing) there already, \(counts.refused) refused"
            progress.show(done, "\(percent) % read: \(sum)")
        }
        listener.refused = report.add
        listener.waiting = { Terminal.say("Waiting for the batch that the import was at when it stopped.") }
        let summary =
            dryRun
            ? try await administration.userImport.check(job, telling: listener)
            : try await administration.userImport.run(job, by: actor, telling: listener)
        progress.end()
        try report.end()
        try show(summary)
        if summary.counts.refused > 0 { throw Exit.dataError }
    }

    private func options() throws -> ImportOptions {
        var options = ImportOptions()
        if let mapping {
            do { options.mapping = try Mapping(try InputFile.json(mapping)) } catch let problems as MappingProblems {
                throw Exit.saying(problems.failure)
            }
        }
        for name in field { options.columns[name.field] = name.column }
        for name in app { options.apps[name.provider] = name.app }
        if let app = facebookApp.flatMap(ProviderAppID.init) { options.apps[ProviderName(known: "facebook")] = app }
        options.withoutProviders = Set(withoutProvider)
        options.withoutMembers = Set(withoutMember)
        options.withoutPasswords = withoutPasswords
        return options
    }

    private func show(_ summary: ImportSummary) throws {
        try output.show(
            .object(JSONObject([.init("dryRun", .bool(dryRun))] + summary.json.members)),
            [
                OutputOptions.Section(
                    member: "untaken",
                    columns: [Column("FIELD", "field", .id), Column("RECORDS", "records", .id)]
                )
            ]
        )
    }
}

/// The report of refused records, in a file or on standard error.
final class ImportReport {
    /// How many refusals are printed without a file.
    private static let mostSaid = 20

    private let path: String?
    private let file: NewFile?
    private var isKept = false
    private var count = 0

    /// - Parameters:
    ///   - path: The name of the finished file; nil for no file.
    ///   - input: The file that is being imported, which must not be overwritten by the report.
    /// - Throws: An exit code after printing why the file cannot be created.
    init(_ path: String?, on input: ImportFile) throws {
        self.path = path
        if let path, input.isFile(at: path) {
            throw Exit.saying("\(path): is the file that is read; name another one", Exit.cannotCreate)
        }
        file = try path.map { try NewFile($0, instead: "leave --report out") }
    }

    deinit {
        if !isKept { file?.discard() }
    }

    func add(_ refusal: ImportRefusal) throws {
        count += 1
        guard let file else {
            if count <= Self.mostSaid { Terminal.say("Line \(refusal.line): \(refusal.message)") }
            return
        }
        try file.write(JSONValue.object(refusal.json).text + "\n")
    }

    /// Gives the file its name, and prints the number of refused records.
    func end() throws {
        isKept = true
        try file?.keep()
        guard count > 0 else { return }
        if let path {
            Terminal.say("Records refused: \(count); \(path) says why.")
        } else if count > Self.mostSaid {
            Terminal.say("Records refused: \(count); --report FILE says why of all of them.")
        }
    }
}
