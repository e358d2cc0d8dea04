import Administration
import Federation
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// An operator who calls, as the gate found out.
struct Caller: Sendable {
    let name: OperatorName
    let role: OperatorRole
    /// For the audit log.
    let actor: Actor
    /// One of the places for administrative requests; it is free again when nobody holds it any more.
    let slot: Slot
}

/// What a route of the administration gets of a request, read and checked.
struct AdministrationCall: Sendable {
    let administration: Administration
    let caller: Caller
    let query: QueryParameters
    private let parameters: [String: String]
    private let request: Request

    /// The largest body that is read, and what it may hold.
    static let bodyLimits: JSONLimits = {
        var limits = JSONLimits.document
        limits.bytes = 1_048_576
        return limits
    }()

    /// Bytes of the longest path parameter, decoded; no name or id is longer.
    private static let longestParameter = 512

    /// Reads path and query.
    ///
    /// - Throws: `malformed_request`, `not_found`.
    init(
        _ request: Request,
        of route: AdministrationRoute,
        context: ManagementContext,
        caller: Caller,
        administration: Administration
    ) throws(Failure) {
        self.administration = administration
        self.caller = caller
        self.request = request
        var parameters: [String: String] = [:]
        for name in route.parameters {
            guard let text = context.parameters[name[...]].flatMap({ PercentEncoding.decode($0) }) else {
                throw Failure(.malformedRequest, "The path must be percent-encoded UTF-8 without NUL.")
            }
            guard text.utf8.count <= Self.longestParameter else {
                throw Failure(.notFound, "There is nothing at this path.")
            }
            parameters[name] = text
        }
        self.parameters = parameters
        query = try QueryParameters(request.uri.query, known: route.query)
    }

    /// A parameter of the path, decoded.
    subscript(name: String) -> String { parameters[name] ?? "" }

    /// The provider that the path names.
    ///
    /// - Throws: `not_found` for what can be no provider's name.
    var provider: ProviderName {
        get throws(Failure) {
            guard let name = ProviderName(self["provider"]), name != .password else {
                throw Failure(.notFound, "There is no such login provider.")
            }
            return name
        }
    }

    var actor: Actor { caller.actor }

    /// What `If-Match` demands.
    var precondition: Precondition {
        get throws(Failure) {
            guard let value = request.headers[.ifMatch] else { return .missing }
            return try EntityTags(value, header: "If-Match").precondition
        }
    }

    /// What `limit` and `cursor` ask for.
    var page: PageRequest {
        get throws(Failure) {
            let limit = try query.integer("limit")
            return try PageRequest(limit: limit.map { Int(clamping: $0) }, cursor: query["cursor"])
        }
    }

    /// The body, a JSON document.
    // Inlined into the closures of routes, it makes the optimizer of Swift 6.3.1 crash ("While splitting coroutine").
    @inline(never)
    func document() async throws(Failure) -> JSONValue {
        try await body(as: ["application/json"])
    }

    /// The body, a JSON Merge Patch; many clients can only call it JSON.
    // As `document`.
    @inline(never)
    func patch() async throws(Failure) -> JSONValue {
        try await body(as: ["application/merge-patch+json", "application/json"])
    }

    private func body(as types: [String]) async throws(Failure) -> JSONValue {
        let bytes = try await request.jsonBody(upTo: Self.bodyLimits.bytes, as: types)
        return try JSONParser.parse(body: bytes, limits: Self.bodyLimits)
    }

    /// Whether the caller asks for this media type by name.
    func accepts(_ type: String) -> Bool {
        (request.headers[.accept] ?? "").split(separator: ",").contains { element in
            let essence = element.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
            return essence.elementsEqual(type.utf8)
        }
    }
}
