import Administration
import AdministrationAPI
import ArgumentParser
import Description
import Domain
import Encodings
import HTTPTypes

/// The command-line argument with the path of a resource of the administration API.
struct PathArgument: ParsableArguments {
    @Argument(
        help: "The path in the administration API after /admin/v1/, such as applications/demo/keys.",
        completion: .list(AdministrationRoute.resources.map(\.template))
    )
    var path: String
}

/// The command-line arguments of the form `NAME=VALUE`.
///
/// Each sets a member of the resource that the command creates or changes.
struct GivenArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A member of the document. NAME= resets it to the default, NAME:= takes JSON, and NAME=@FILE a secret.",
            valueName: "name=value"
        ),
        completion: .list(Assignments.completions)
    )
    var words: [String] = []

    /// The value of an option with which an operator has tried to pass a secret.
    ///
    /// The option's names exist only so that the command can explain that a secret must not be an argument.
    @Option(
        name: [
            .customLong("secret"), .customLong("app-secret"), .customLong("key"), .customLong("api-key"),
            .customLong("token"), .customLong("webhook-verify-token"),
        ],
        help: .private
    )
    var secret: String?

    func validate() throws {
        guard secret == nil else {
            throw ValidationError(
                Secret.refusal(ofArgument: "This option", use: "NAME=@FILE, where @- is standard input")
            )
        }
    }
}

struct GetCommand: AdministrationCommand {
    static let configuration = ResourceVerb.get.configuration(
        "Show a resource.",
        "The last line, tag, is the value for --if-match.",
        examples: """
              federation get applications/demo
              federation get applications/demo/mappings/facebook --json
            """
    )

    @OptionGroup var at: PathArgument

    @Argument(help: ArgumentHelp("A query parameter.", valueName: "name=value"))
    var parameters: [String] = []

    @OptionGroup var output: OutputOptions

    func validate() throws { _ = try given(ResourcePath(at.path, .get)) }

    private func given(_ path: ResourcePath) throws -> Assignments { try Assignments(parameters, to: path) }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let path = try ResourcePath(at.path, .get)
        let query = try given(path).query
        try output.show(try await path.route.call(path.segments, query: query, by: actor, of: administration), path)
    }
}

struct ListCommand: AdministrationCommand {
    static let configuration = ResourceVerb.list.configuration(
        "List resources.",
        """
        NAME=VALUE filters the list. since and until take a time like 2026-01-31T12:00:00Z, milliseconds since 1970, \
        or a duration before now, like 24h.
        """,
        examples: """
              federation list applications
              federation list applications/demo/users email=ann@example.com
              federation list audit application=demo since=7d --limit 500
            """
    )

    @OptionGroup var at: PathArgument

    @Argument(help: ArgumentHelp("A filter of the list.", valueName: "name=value"))
    var parameters: [String] = []

    @Flag(help: "Print one JSON object per line, for programs.")
    var jsonLines = false

    @OptionGroup var page: PageOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if jsonLines, output.json { throw ValidationError("Give --json or --json-lines, not both.") }
        let path = try ResourcePath(at.path, .list)
        _ = try given(path)
        if page.cursor != nil, !path.takesPages {
            throw ValidationError("\(at.path) has no pages: leave --cursor out.")
        }
    }

    private func given(_ path: ResourcePath) throws -> Assignments { try Assignments(parameters, to: path) }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let path = try ResourcePath(at.path, .list)
        let query = try given(path).query
        let list = try await page.read { part in
            let cursor = part.cursor.map { [(name: "cursor", value: $0)] } ?? []
            let pages = path.takesPages ? [(name: "limit", value: String(part.limit))] + cursor : []
            let answer = try await path.route.call(path.segments, query: query + pages, by: actor, of: administration)
            return switch answer {
            case .page(let page): page
            case .resource(let list):
                Page(items: Array((list.body.object?["items"]?.array ?? []).prefix(part.limit)), next: nil)
            case .done: Page(items: [], next: nil)
            }
        }
        guard jsonLines else { return try output.show(list, path.route.item.map(Column.columns) ?? []) }
        try Terminal.print(list.items.map { $0.line + "\n" }.joined())
    }
}

struct SetCommand: AdministrationCommand {
    static let configuration = ResourceVerb.set.configuration(
        "Create or replace a resource.",
        """
        The document is a JSON file, - for standard input, or its members as NAME=VALUE, with a full stop before \
        members of inner objects. Other members get their defaults. If that would remove elements of a list, confirm \
        it with the last name of the path, as --confirm NAME. \(ResourceVerb.values)

        A new key, token or link is printed only once and alone, so that you can write it to a file.
        """,
        examples: """
              federation set applications/demo name=Demo
              federation set applications/demo/keys/ios > ios.key
              federation set applications/demo/properties/birthday type=DATE
              federation set applications/demo/providers/facebook \\
                apps.1234567890.appSecret=@facebook.secret
              federation set applications/demo/mappings/facebook mapping.json
              federation set operators/ci role=editor machine=true \\
                expiresInSeconds=90d > ci.token
            """
    )

    @OptionGroup var at: PathArgument
    @OptionGroup var given: GivenArguments
    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup var precondition: PreconditionOption
    @OptionGroup var output: OutputOptions

    func validate() throws {
        let path = try ResourcePath(at.path, .set)
        try precondition.check(path)
        let assignments = try Assignments(given.words, to: path, takesFile: true)
        if let named = path.named, assignments.give(named.member) {
            throw ValidationError("The path already gives \(named.member).")
        }
        if path.route.method == .put, path.document != nil, assignments.isEmpty {
            throw ValidationError("Name at least one thing to set.")
        }
        let required = path.document?.resolved.properties.filter(\.isRequired).map(\.name) ?? []
        let missing = required.first { $0 != path.named?.member && !assignments.give($0) }
        if assignments.file == nil, let missing { throw ValidationError("\(missing)=VALUE is needed.") }
    }

    var inputFiles: [String] {
        (try? Assignments(given.words, to: ResourcePath(at.path, .set), takesFile: true))?.files ?? []
    }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let path = try ResourcePath(at.path, .set)
        let assignments = try Assignments(given.words, to: path, takesFile: true)
        var document: JSONValue?
        if path.document != nil {
            let given = try assignments.document()
            document = assignments.file == nil ? given.withoutNulls : given
            if let named = path.named, let object = document?.object {
                document = .object(object.setting([named.member], to: .string(named.value)))
            }
        }
        var tag = precondition.plainTag
        if path.route.method == .put, assignments.file == nil,
            let current = try await path.current(by: actor, of: administration),
            case let lost = path.elements(of: current.body, without: document), !lost.isEmpty
        {
            try confirmation.require(
                path.name,
                losing: "\(lost.joined(separator: ", ")) of \(at.path), which patch would keep"
            )
            tag = tag ?? current.tag
        }
        let answer = try await path.route.call(
            path.segments,
            query: assignments.query,
            body: document,
            tag: tag,
            by: actor,
            of: administration
        )
        try output.show(answer, path, giving: document)
    }
}

struct PatchCommand: AdministrationCommand {
    static let configuration = ResourceVerb.patch.configuration(
        "Change members of a resource.",
        """
        Members that are not named are kept. An empty value resets a member to its default. \(ResourceVerb.values) A \
        file contains a JSON merge patch.

        List elements with an id are addressed by it: apps.1234567890.appSecret=@FILE adds the app or changes its \
        secret, apps.1234567890= removes it, and the others are kept.
        """,
        examples: """
              federation patch applications/demo settings.sessionIdleSeconds=7d
              federation patch applications/demo/keys/ios label=ios-2026
              federation patch applications/demo/providers/facebook enabled=false
              federation patch applications/demo/properties/city indexed=true
              federation patch operators/ann role=editor
            """
    )

    @OptionGroup var at: PathArgument
    @OptionGroup var given: GivenArguments
    @OptionGroup var precondition: PreconditionOption
    @OptionGroup var output: OutputOptions

    func validate() throws {
        let path = try ResourcePath(at.path, .patch)
        try precondition.check(path)
        guard try !Assignments(given.words, to: path, takesFile: true).isEmpty else {
            throw ValidationError("Name at least one thing to change.")
        }
    }

    var inputFiles: [String] {
        (try? Assignments(given.words, to: ResourcePath(at.path, .patch), takesFile: true))?.files ?? []
    }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let path = try ResourcePath(at.path, .patch)
        let assignments = try Assignments(given.words, to: path, takesFile: true)
        let current = assignments.areOfElements ? try await path.current(by: actor, of: administration) : nil
        let document = try assignments.document(changing: current?.body)
        let answer = try await path.route.call(
            path.segments,
            query: assignments.query,
            body: document,
            // A list is replaced as a whole, so the resource must not have changed since it was read.
            tag: precondition.plainTag ?? current?.tag,
            by: actor,
            of: administration
        )
        try output.show(answer, path, giving: document)
    }
}

struct DeleteCommand: AdministrationCommand {
    static let configuration = ResourceVerb.delete.configuration(
        "Remove a resource.",
        """
        If the removal cannot be undone, confirm it with the last name of the path, as --confirm NAME. On a terminal \
        you are asked.
        """,
        examples: """
              federation delete applications/demo/keys/ios --confirm ios
              federation delete operators/ci/tokens/44d09a8fb0aa91b3
            """
    )

    @OptionGroup var at: PathArgument
    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup var precondition: PreconditionOption

    func validate() throws { try precondition.check(ResourcePath(at.path, .delete)) }

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let path = try ResourcePath(at.path, .delete)
        if let loss = path.route.loss { try confirmation.require(path.name, losing: "\(at.path): \(loss)") }
        let isConfirmed = path.route.query.contains { $0.name == "confirm" }
        _ = try await path.route.call(
            path.segments,
            query: isConfirmed ? [("confirm", path.name)] : [],
            tag: precondition.plainTag,
            by: actor,
            of: administration
        )
        try Terminal.report("\(at.path) is removed.")
    }
}
