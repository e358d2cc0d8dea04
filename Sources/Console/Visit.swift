import API
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// A request of an operator who has signed in.
struct Visit: Sendable {
    /// Of the session.
    let token: String
    let console: Console
    private let context: ManagementContext
    let query: [String: String]
    private(set) var name = ""
    private(set) var role = OperatorRole.viewer

    init(token: String, console: Console, request: Request, context: ManagementContext) {
        self.token = token
        self.console = console
        self.context = context
        query = Self.query(of: request)
    }

    /// Asks who it is.
    ///
    /// - Throws: A `Refusal` for who is nobody any more.
    mutating func identify() async throws {
        let caller = try await read(["operator"]).object
        // The token of a program, or a link, is no session: its cookie would outlive what it was made for.
        guard caller?["purpose"]?.string == OperatorTokenPurpose.session.rawValue else {
            throw Failure(.operatorTokenInvalid, "This is no session of the console.")
        }
        name = caller?["name"]?.string ?? ""
        role = caller?["role"]?.string.flatMap { OperatorRole(rawValue: $0) } ?? .viewer
    }

    /// The parameters of a query; of one that is there twice the first, of what cannot be decoded none.
    static func query(of request: Request) -> [String: String] {
        let fields = try? FormFields(request.uri.query ?? "")
        return (fields?.all ?? []).reduce(into: [:]) { $0[$1.name] = $0[$1.name] ?? $1.value }
    }

    /// A parameter of the path, decoded.
    func parameter(_ name: String) -> String {
        context.parameters[name[...]].flatMap { PercentEncoding.decode($0) } ?? ""
    }

    /// Calls the administration.
    ///
    /// - Throws: `Refusal`.
    @discardableResult
    func call(_ call: AdministrationCalls.Call) async throws -> AdministrationCalls.Answer {
        let answer = try await console.calls.send(call, as: token, context: context)
        guard answer.status.kind == .successful else { throw Refusal(answer) }
        return answer
    }

    /// Reads something of the administration.
    func read(_ path: [String], query: [(name: String, value: String)] = []) async throws -> JSONValue {
        try await call(.init(.get, path, query: query)).body ?? .null
    }

    /// Where a list goes on, as the page was asked for it.
    var cursor: [(name: String, value: String)] { query["cursor"].map { [("cursor", $0)] } ?? [] }

    /// Reads a part of a list.
    func list(_ path: [String], query: [(name: String, value: String)] = []) async throws -> Listing {
        let body = try await read(path, query: query).object
        return Listing(items: body?["items"]?.array?.compactMap(\.object) ?? [], next: body?["next"]?.string)
    }

    // MARK: Forms

    /// A form of ours that is sent to a path.
    func form(to path: String, class name: String = "", _ content: HTML) -> HTML {
        """
        <form method="post" action="\(path)" class="\(name)"><input type="hidden" name="\(FormGuard.field)" \
        value="\(console.forms.token(of: token))">\(content)</form>
        """
    }
}

/// A part of a list.
struct Listing {
    let items: [JSONObject]
    /// The cursor of the next part; nil on the last.
    let next: String?
}
