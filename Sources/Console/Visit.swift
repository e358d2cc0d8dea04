import API
import Crypto
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// A request of an operator who has signed in.
struct Visit: Sendable {
    private let token: String
    let console: Console
    private let context: ManagementContext
    /// The path that is asked for, with its query.
    let here: String
    let query: [String: String]
    private(set) var name = ""
    private(set) var role = OperatorRole.viewer

    init(token: String, console: Console, request: Request, context: ManagementContext) {
        self.token = token
        self.console = console
        self.context = context
        here = request.uri.description
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

    /// Reads a part of a list.
    func list(_ path: [String], query: [(name: String, value: String)] = []) async throws -> Listing {
        let body = try await read(path, query: query).object
        return Listing(items: body?["items"]?.array?.compactMap(\.object) ?? [], next: body?["next"]?.string)
    }

    // MARK: Forms

    /// What a form of this session holds, so that no other page can send it: it is made of the session's token, which
    /// no other page knows.
    var formToken: String {
        Hexadecimal.encode(SHA256.hash(data: Array("federation console form\n\(token)".utf8)))
    }

    /// A form of ours that is sent to a path.
    func form(to path: String, class name: String = "", _ content: HTML) -> HTML {
        """
        <form method="post" action="\(path)" class="\(name)"><input type="hidden" name="\(Self.formField)" \
        value="\(formToken)">\(content)</form>
        """
    }

    static let formField = "form"

    /// Refuses a form that does not come from a page of this session.
    func check(_ form: FormFields, of request: Request) throws {
        try console.checkOrigin(of: request)
        let sent = try form.value(Self.formField) ?? ""
        guard Array(sent.utf8).isEqualInConstantTime(to: Array(formToken.utf8)) else {
            throw Failure(.malformedRequest, "This form is of another session. Load the page again and repeat it.")
        }
    }

}

extension Console {
    /// Refuses a form that a page of another origin sends; browsers tell, and whoever does not is held to the token.
    func checkOrigin(of request: Request) throws(Failure) {
        let foreign = Failure(.malformedRequest, "This form came from a page of somebody else, and was not taken.")
        if let site = request.headers[.secFetchSite], site != "same-origin", site != "none" { throw foreign }
        // A proxy may give the request another host than the browser has asked for.
        guard let sender = request.headers[.origin], sender != origin else { return }
        guard sender.split(separator: "://", maxSplits: 1).last.map(String.init) == request.head.authority else {
            throw foreign
        }
    }
}

/// A part of a list.
struct Listing {
    let items: [JSONObject]
    /// The cursor of the next part; nil on the last.
    let next: String?
}

extension HTTPField.Name {
    static let secFetchSite = HTTPField.Name(known: "Sec-Fetch-Site")
    static let clearSiteData = HTTPField.Name(known: "Clear-Site-Data")
    static let openerPolicy = HTTPField.Name(known: "Cross-Origin-Opener-Policy")
    static let resourcePolicy = HTTPField.Name(known: "Cross-Origin-Resource-Policy")
}
