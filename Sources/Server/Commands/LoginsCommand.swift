import Administration
import ArgumentParser
import Domain
import Encodings
import Store

struct LoginsCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "logins",
        abstract: "Show the login log: successful and refused logins.",
        discussion: """
            Newest first. Logins of the last seconds are not listed yet. With --follow, newest last, until \
            interrupted. If too many logins are refused in one second, only some are listed; standard error reports \
            how many are missing, of the last day unless --since is given. --since takes a time like \
            2026-01-31T12:00:00Z, milliseconds since 1970, or a duration before now, like 24h.

            Examples:
              federation logins demo --outcome refused --since 1h
              federation logins demo --provider facebook --follow
              federation logins --reason credential_expired --json-lines
            """
    )

    @Argument(help: ArgumentHelp("Id of the application. By default, all.", valueName: "app"))
    var application: String?

    @Option(help: "Only logins with this method.")
    var method: LoginRecord.Method?

    @Option(help: ArgumentHelp("Only logins with this provider.", valueName: "name"))
    var provider: String?

    @Option(help: "Only logins with this outcome.")
    var outcome: LoginRecord.Outcome?

    @Option(help: "Only logins refused for this reason, like credential_expired.")
    var reason: String?

    @Option(help: ArgumentHelp("Only logins from this address.", valueName: "address"))
    var source: String?

    @Option(help: ArgumentHelp("Only logins of this user.", valueName: "id"))
    var user: String?

    @Option(help: ArgumentHelp("Only logins since this time.", valueName: "time"))
    var since: String?

    @Flag(help: "Keep printing new logins.")
    var follow = false

    @Flag(help: "Print one JSON object per line, for programs.")
    var jsonLines = false

    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if jsonLines, output.json { throw ValidationError("Give --json or --json-lines, not both.") }
        guard follow else { return }
        if output.json { throw ValidationError("--follow needs --json-lines instead of --json.") }
        if page.cursor != nil { throw ValidationError("--follow cannot be combined with --cursor.") }
    }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        var search = LoginSearch()
        search.application = application
        search.method = method?.rawValue
        search.provider = provider
        search.outcome = outcome?.rawValue
        search.reason = reason
        search.source = source
        search.user = user
        search.since = since.map(Lifetime.moment)
        let entries = try await page.read { [search] in try await administration.logins.list(search, $0) }
        guard follow else {
            try jsonLines ? printLines(entries.items) : output.show(entries, Self.columns)
            return sayUnlisted(entries)
        }
        try show(entries.items.reversed(), isFirst: true)
        sayUnlisted(entries)
        // If there is no login yet, every login that comes is shown.
        search.after = entries.items.first?.id ?? "0"
        while true {
            let part = try await administration.logins.list(search, PageRequest(limit: PageRequest.maxItems))
            if !part.items.isEmpty { try show(part.items, isFirst: false) }
            search.after = part.items.last?.id ?? search.after
            if part.next == nil { try await Task.sleep(for: Self.pause) }
        }
    }

    /// The pause between two requests for new logins; instances write logins to the log about once a second.
    private static let pause = Duration.seconds(1)

    private func show(_ items: [JSONValue], isFirst: Bool) throws {
        guard !jsonLines else { return try printLines(items) }
        let lines = Table(Self.columns, items).lines(within: Terminal.columns).dropFirst(isFirst ? 0 : 1)
        try Terminal.print(lines.joined(separator: "\n") + "\n")
    }

    /// Prints to standard error how many refused logins the log has only counted, so that the list lacks them.
    ///
    /// Programs read the list from standard output, so the number must not appear there.
    private func sayUnlisted(_ entries: Page) {
        let unlisted = entries.facts["unlisted"]?.object
        guard let logins = unlisted?["logins"]?.integer, logins > 0 else { return }
        let since = Cell.text(unlisted?["since"], isMoment: true)
        Terminal.say(
            "\(logins) more since \(since) are counted but not listed, because too many were refused at once."
        )
    }

    private func printLines(_ items: [JSONValue]) throws {
        try Terminal.print(items.map { $0.line + "\n" }.joined())
    }

    private static let columns = [
        Column("HAPPENED", "happened", .moment), Column("APPLICATION", "application", .id),
        Column("METHOD", .id) { login in login["provider"]?.string.map(JSONValue.string) ?? login["method"] },
        Column("OUTCOME", .id) { login in login["reason"]?.string.map(JSONValue.string) ?? login["outcome"] },
        Column("USER", "user"), Column("SOURCE", "source"), Column("MS", "milliseconds", .id),
        Column("REQUEST", "request"), Column("USER-AGENT", "userAgent"), Column("CAUSE", "cause"),
    ]
}

extension JSONValue {
    /// The value of the member `id` of a list element, as text; nil if there is none.
    fileprivate var id: String? { object?["id"]?.integer.map { String($0) } }
}
