import Administration
import ArgumentParser
import Domain
import Encodings
import Logins

struct UserEraseCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Erase a user with identities and sessions, or all users of a list of provider ids.",
        discussion: """
            This cannot be undone. The next login with the user's account at a provider creates a new user. If the \
            user is disabled, these accounts stay banned for the setting banDays, or until the ban is removed.

            --ids takes a list of a provider, with one id per line. Each id becomes a deletion request, as from the \
            provider's callback: a user with another login method only loses the identity, and the option \
            eraseAfterDays applies. The report has the confirmation code of each request, for its status page. If \
            interrupted, run the same command again. Exits with 65 if an erasure is blocked; the service retries it \
            every ten minutes.

            Examples:
              federation user erase demo 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60 \\
                --confirm 0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60
              federation user erase demo --provider facebook --ids ids.txt \\
                --reason list-of-Meta --dry-run
              federation user erase demo --provider facebook --ids ids.txt \\
                --reason list-of-Meta --report erased.ndjson --confirm demo
            """
    )

    @OptionGroup var application: ApplicationArgument

    @Argument(help: ArgumentHelp("The user's objectId; none with --ids.", valueName: "user"))
    var user: String?

    @Option(
        help: ArgumentHelp("A file with a provider's ids of users, one per line.", valueName: "file"),
        completion: .file()
    )
    var ids: String?

    @Option(help: "The provider of the ids, as the application calls it.")
    var provider: ProviderName?

    @Option(
        help: ArgumentHelp(
            "The app of the ids at the provider, if the application has several. Repeatable.",
            valueName: "id"
        )
    )
    var app: [String] = []

    @Option(help: "The reason for the audit log, 1 to 500 bytes.")
    var reason: String?

    @Flag(help: "Check each id of the list, and erase nothing.")
    var dryRun = false

    @Option(
        help: ArgumentHelp("Write the outcome of each id to this file, one JSON object per line.", valueName: "file"),
        completion: .file()
    )
    var report: String?

    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup var precondition: PreconditionOption
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (user == nil) != (ids == nil) else { throw ValidationError("Give a user, or a list with --ids.") }
        guard ids != nil else {
            guard provider == nil, app.isEmpty, reason == nil, report == nil, !dryRun, !output.json else {
                throw ValidationError("--provider, --app, --reason, --dry-run, --report and --json are only for --ids.")
            }
            return
        }
        guard provider != nil else { throw ValidationError("--ids needs --provider.") }
        guard let reason, ErasureList.reasons.contains(reason.utf8.count) else {
            throw ValidationError("--ids needs --reason, of 1 to \(ErasureList.reasons.upperBound) bytes.")
        }
    }

    var inputFiles: [String] { ids.map { [$0] } ?? [] }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        if let user { try await erase(user, administration, actor) }
        if let ids, let provider { try await erase(listed: ids, at: provider, administration, actor) }
    }

    private func erase(_ user: String, _ administration: Administration, _ actor: ChangeAuthor) async throws {
        let application = application.id
        try confirmation.require(user, losing: "the user \(user) of \(application) with identities and sessions")
        let revocations = try await administration.users.erase(
            user,
            of: application,
            confirmation: user,
            if: precondition.precondition,
            by: actor
        )
        try Terminal.report("The user \(user) of \(application) is erased.")
        for warning in revocations.compactMap(\.warning) { Terminal.say(warning) }
    }

    // MARK: Lists

    private func erase(
        listed path: String,
        at provider: ProviderName,
        _ administration: Administration,
        _ actor: ChangeAuthor
    ) async throws {
        let file = try ImportFile(path)
        let list = ErasureList(try file.whole(), of: provider, apps: app, in: application.id, reason: reason ?? "")
        let lists = administration.erasureLists
        let count = try await lists.count(list)
        if !dryRun {
            try confirmation.require(
                application.id,
                losing: "all users of \(application.id) with one of \(count) ids of \(provider)"
            )
        }
        if let report, file.isFile(at: report) {
            throw Exit.saying("\(report): is the input file; choose another file", Exit.cannotCreate)
        }
        let told = try report.map { try NewFile($0, instead: "leave --report out") }
        var progress = Progress("ids", isShown: true)
        var done = 0
        let counts: [ErasedID.Outcome: Int]
        do {
            counts = try await lists.run(list, isDryRun: dryRun, by: actor) { erased in
                try told?.write(JSONValue.object(erased.json).text + "\n")
                done += 1
                progress.show(done)
            }
            progress.end()
            try told?.keep()
        } catch {
            progress.end()
            // Erasures are permanent, so the report of those done is kept.
            if done > 0 { try told?.keep() } else { told?.discard() }
            throw error
        }
        try show(counts, ids: count)
        if let blocked = counts[.blocked], blocked > 0 { throw Exit.dataError }
    }

    private func show(_ counts: [ErasedID.Outcome: Int], ids: Int) throws {
        var object: JSONObject = ["dryRun": .bool(dryRun), "ids": .integer(Int64(ids))]
        for outcome in ErasedID.Outcome.allCases {
            object.append(outcome.rawValue, .integer(Int64(counts[outcome] ?? 0)))
        }
        try output.show(.object(object), [])
    }
}
