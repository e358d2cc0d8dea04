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

    @Argument(help: "The file. It is read twice, so it cannot be a pipe.", completion: .file())
    var file: String

    @Option(help: "The source of the file.")
    var from: ImportSource

    @Option(
        help: ArgumentHelp(
            "The mapping of fields to properties. By default, fields go to properties of the same name.",
            valueName: "file"
        ),
        completion: .file(extensions: ["json"])
    )
    var mapping: String?

    @Option(
        help: ArgumentHelp(
            "The name of a field in plain CSV or NDJSON, such as passwordHash=pw. Repeatable.",
            valueName: "field=name"
        )
    )
    var field: [FieldName] = []

    @Option(
        help: ArgumentHelp(
            "A field that holds a provider's user id, such as facebook=fbId or facebook=fbId,app=ID. Repeatable.",
            valueName: "provider=field"
        )
    )
    var identity: [IdentityMember] = []

    @Option(
        help: ArgumentHelp("The Facebook app of the file's Facebook ids.", valueName: "id")
    )
    var facebookApp: String?

    @Option(
        help: ArgumentHelp(
            "The same for another provider, such as google=ID. Repeatable.",
            valueName: "provider=id"
        )
    )
    var app: [ProviderAppName] = []

    @Option(
        help: ArgumentHelp("Skip the identities of a provider. Repeatable.", valueName: "provider")
    )
    var withoutProvider: [ProviderName] = []

    @Option(
        help: ArgumentHelp(
            "Skip and count a member that looks like a login method and is not read. Repeatable.",
            valueName: "name"
        )
    )
    var withoutMember: [String] = []

    @Flag(help: "Skip password hashes: users set a new password by mail.")
    var withoutPasswords = false

    @Option(
        help: ArgumentHelp("The hash parameters from the Firebase console.", valueName: "file"),
        completion: .file()
    )
    var hashConfig: String?

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
        if !field.isEmpty, from != .csv, from != .ndjson {
            throw ValidationError("--field is only for --from csv and --from ndjson.")
        }
        guard Set(identity.map(\.provider)).count == identity.count else {
            throw ValidationError("Give --identity once for each provider.")
        }
        if let facebookApp, ProviderAppID(facebookApp) == nil {
            throw ValidationError("--facebook-app must be the id of an app.")
        }
        if (hashConfig != nil) != (from == .firebase && !withoutPasswords) {
            throw ValidationError(
                "--from firebase needs --hash-config or --without-passwords. --hash-config is only for Firebase."
            )
        }
    }

    var inputFiles: [String] { [file] + [mapping, hashConfig].compactMap(\.self) }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
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
            progress.show(done, "\(percent) % read: \(counts.words)")
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
        for identity in identity {
            options.identityMembers[identity.provider] = identity.member
            if let app = identity.app { options.apps[identity.provider] = app }
        }
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

/// Reports the records that an import refused, in a file or on standard error.
final class ImportReport {
    /// The maximum number of refused records that are printed to standard error if there is no report file.
    private static let maxReported = 20

    private let path: String?
    private let file: NewFile?
    private var isKept = false
    private var count = 0

    /// Begins the report.
    ///
    /// - Parameters:
    ///   - path: The path of the report file, which appears there when the report is complete; nil for no file.
    ///   - input: The file that is being imported, which must not be overwritten by the report.
    /// - Throws: An exit code after printing why the file cannot be created.
    init(_ path: String?, on input: ImportFile) throws {
        self.path = path
        if let path, input.isFile(at: path) {
            throw Exit.saying("\(path): is the input file; choose another file", Exit.cannotCreate)
        }
        file = try path.map { try NewFile($0, instead: "leave --report out") }
    }

    deinit {
        if !isKept { file?.discard() }
    }

    func add(_ refusal: ImportRefusal) throws {
        count += 1
        guard let file else {
            if count <= Self.maxReported { Terminal.say("Line \(refusal.line): \(refusal.message)") }
            return
        }
        try file.write(JSONValue.object(refusal.json).text + "\n")
    }

    /// Completes the report: renames the report file to its final name, and prints the number of refused records.
    func end() throws {
        isKept = true
        try file?.keep()
        guard count > 0 else { return }
        if let path {
            Terminal.say("Refused records: \(count). See \(path).")
        } else if count > Self.maxReported {
            Terminal.say("Refused records: \(count). Use --report FILE for all reasons.")
        }
    }
}
