import AdministrationAPI
import Domain
import Encodings
import Hummingbird
import Pages

/// A request of an operator who is logged in.
struct Visit: Sendable {
    /// The token of the operator's session.
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

    /// Reads the operator's name and role from the administration API.
    ///
    /// - Throws: A `Refusal` for an invalid session.
    mutating func identify() async throws {
        let caller = try await object(["operator"])
        // Only a session may be in the cookie. The token of a program, or a link, would outlive its purpose there.
        guard caller["purpose"]?.string == OperatorTokenPurpose.session.rawValue else {
            throw Failure(.operatorTokenInvalid, "This is not a console session. Log in again.")
        }
        name = caller.string("name")
        role = caller["role"]?.string.flatMap { OperatorRole(rawValue: $0) } ?? .viewer
    }

    /// Checks that the operator has at least the given role; otherwise the page is refused.
    func require(_ role: OperatorRole) throws(Failure) {
        guard self.role >= role else {
            throw Failure(
                .operatorForbidden,
                "This needs the role \(role.rawValue). Your role is \(self.role.rawValue). Ask an owner."
            )
        }
    }

    /// Returns the query parameters of the request.
    ///
    /// If a parameter is repeated, its first value counts. A query that cannot be decoded has no parameters.
    static func query(of request: Request) -> [String: String] {
        let fields = try? FormFields(request.uri.query ?? "")
        return (fields?.all ?? []).reduce(into: [:]) { $0[$1.name] = $0[$1.name] ?? $1.value }
    }

    /// Returns the percent-decoded value of a path parameter.
    func parameter(_ name: String) -> String {
        context.parameters[name[...]].flatMap { PercentEncoding.decode($0) } ?? ""
    }

    /// The id of the application in the request's path.
    var application: String { parameter("application") }

    /// Calls the administration API with the operator's session.
    ///
    /// - Throws: `Refusal` if the response is an error.
    @discardableResult
    func call(_ call: AdministrationCalls.Call) async throws -> AdministrationCalls.Answer {
        let answer = try await console.calls.send(call, as: token, context: context)
        guard answer.status.kind == .successful else { throw Refusal(answer) }
        return answer
    }

    /// Calls the administration API with a JSON object as the body of the request.
    @discardableResult
    func call(
        _ method: HTTPRequest.Method,
        _ path: [String],
        _ body: JSONObject? = nil,
        query: [(name: String, value: String)] = [],
        tag: String? = nil
    ) async throws -> AdministrationCalls.Answer {
        try await call(.init(method, path, query: query, body: body.map(JSONValue.object), tag: tag))
    }

    /// Returns the JSON value in the administration API's response to a GET.
    func read(_ path: [String], query: [(name: String, value: String)] = []) async throws -> JSONValue {
        try await call(.get, path, query: query).body ?? .null
    }

    /// Returns the JSON object in the administration API's response to a GET.
    func object(_ path: [String], query: [(name: String, value: String)] = []) async throws -> JSONObject {
        try await call(.get, path, query: query).object
    }

    /// Returns the administration API's response to a GET of a resource; nil if the resource does not exist.
    func found(_ path: [String]) async throws -> AdministrationCalls.Answer? {
        do { return try await call(.get, path) } catch let refusal as Refusal where refusal.status == .notFound {
            return nil
        }
    }

    /// The `cursor` of the request, as a query parameter that a call of the administration API can pass on; empty if
    /// there is none.
    var cursor: [(name: String, value: String)] { query["cursor"].map { [("cursor", $0)] } ?? [] }

    /// Reads one page of a list from the administration API.
    func list(_ path: [String], query: [(name: String, value: String)] = []) async throws -> Listing {
        let body = try await object(path, query: query)
        return Listing(items: body.objects("items"), next: body["next"]?.string)
    }

    // MARK: Forms

    /// Returns an HTML form, with a CSRF token, that the browser sends to a path of the console.
    func form(to path: String, class name: String = "", _ content: HTML) -> HTML {
        """
        <form method="post" action="\(path)" class="\(name)">\(console.forms.hidden(for: token))\(content)</form>
        """
    }
}

/// One page of a list, as the administration API returns it.
struct Listing {
    let items: [JSONObject]
    /// The cursor of the next page; nil on the last page.
    let next: String?
}

extension AdministrationCalls.Answer {
    /// The response's body if it is an object; otherwise an empty object.
    var object: JSONObject { body?.object ?? JSONObject() }
}

extension FormFields {
    /// Returns the text of a form field; empty if the field is absent.
    func text(_ name: String) throws(Failure) -> String { try value(name) ?? "" }

    /// Returns the texts of all form fields with the same name.
    func texts(_ name: String) -> [String] { all.filter { $0.name == name }.map(\.value) }
}

extension FormFields? {
    /// Returns what the operator typed into a form field; empty if no form was sent.
    func typed(_ name: String) -> String { (try? self?.value(name)) ?? "" }
}
