import Administration
import ArgumentParser
import Domain
import Encodings
import Store

struct LoginsCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "logins",
        abstract: "Who logged in how, and why others could not.",
        discussion: """
            The newest first, those of the last seconds not yet; with --follow the newest last, and on until it is interrupted. \
            Of many refused logins in one second only some are listed, shared between applications and sources; standard error \
            has how many are not, of the last day unless --since is given. --since takes a moment like \
            2026-01-31T12:00:00Z, milliseconds since 1970, or how long ago, like 24h.

            Examples:
              federation logins demo --outcome refused --since 1h
              federation logins demo --provider facebook --follow
              federation logins --reason credential_expired --json-lines
            """
    )

    @Argument(help: ArgumentHelp("Id of the application; all unless given.", valueName: "app"))
    var application: String?

    @Option(help: "Logins by this method only.")
    var method: LoginRecord.Method?

    @Option(help: ArgumentHelp("Logins by this provider only.", valueName: "name"))
    var provider: String?

    @Option(help: "Logins that ended so only.")
    var outcome: LoginRecord.Outcome?

    @Option(help: "Logins refused for this reason only, like credential_expired.")
    var reason: String?

    @Option(help: ArgumentHelp("Logins from this address only.", valueName: "address"))
    var source: String?

    @Option(help: ArgumentHelp("Logins of this user only.", valueName: "id"))
    var user: String?

    @Option(help: ArgumentHelp("Not before this moment.", valueName: "time"))
    var since: String?

    @Flag(help: "Go on with what comes.")
    var follow = false

    @Flag(help: "Print one JSON object a line, for programs.")
    var jsonLines = false

    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if jsonLines, output.json { throw ValidationError("Give --json or --json-lines, not both.") }
        guard follow else { return }
        if output.json { throw ValidationError("--follow prints line by line: give --json-lines.") }
        if page.cursor != nil { throw ValidationError("--follow begins with the newest, not at a --cursor.") }
    }

    func run(_ administration: Administration, by actor: Actor) async throws {
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
        // Without any login so far, every login that comes is shown.
        search.after = entries.items.first?.id ?? "0"
        while true {
            let part = try await administration.logins.list(search, PageRequest(limit: PageRequest.mostItems))
            if !part.items.isEmpty { try show(part.items, isFirst: false) }
            search.after = part.items.last?.id ?? search.after
            if part.next == nil { try await Task.sleep(for: Self.pause) }
        }
    }

    /// The time between two requests; instances write logins about once a second.
    private static let pause = Duration.seconds(1)

    private func show(_ items: [JSONValue], isFirst: Bool) throws {
        guard !jsonLines else { return try printLines(items) }
        let lines = Table(Self.columns, items).lines(within: Terminal.columns).dropFirst(isFirst ? 0 : 1)
        try Terminal.print(lines.joined(separator: "\n") + "\n")
    }

    /// Prints how many logins are not listed, on standard error, which no program reads as the list.
    private func sayUnlisted(_ entries: Page) {
        let unlisted = entries.facts["unlisted"]?.object
        guard let logins = unlisted?["logins"]?.integer, logins > 0 else { return }
        let since = Cell.text(unlisted?["since"], isMoment: true)
        Terminal.say(
            "\(logins) more since \(since) are counted and not listed, since too many were refused at once."
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
    /// The id of an element of a list.
    fileprivate var id: String? { object?["id"]?.integer.map { String($0) } }
}
