import Administration
package import Description
package import Domain
import Encodings
import HTTP
package import HTTPTypes
import Hummingbird
import Logging

/// A route of the administration: its parameters, the required role, and its handler.
///
/// `all` has all routes. A request can reach nothing else under `/admin`, so tests that loop over `all` miss nothing.
package struct AdministrationRoute: Sendable {
    typealias Handler = @Sendable (AdministrationCall) async throws -> AdministrationReply

    package let method: HTTPRequest.Method
    /// The path pattern, such as `/admin/v1/applications/{application}`.
    package let path: String
    /// The lowest role that may call the route.
    package let role: OperatorRole
    /// The query parameters of the route.
    package let query: [Parameter]
    /// How recently an operator must have used a second factor to call the route (step-up).
    ///
    /// The demand does not concern operators who have no second factor.
    package let factor: OperatorFactorDemand
    /// Whether the route is about sessions or second factors of humans.
    ///
    /// Such a route refuses the token of a program.
    package let isForPeople: Bool
    /// The irreversible loss that a call causes, as text for the confirmation on the command line; nil if nothing is
    /// lost.
    package let loss: String?
    /// Returns the description of the route for the OpenAPI document.
    ///
    /// `AdministrationDocument` adds what follows from the path, the role and the query.
    let operation: @Sendable () -> Operation
    let handler: Handler

    /// The beginning of every path.
    static let base = "/admin/v1/"

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ role: OperatorRole,
        query: [Parameter] = [],
        factor: OperatorFactorDemand = .within12Hours,
        forPeople isForPeople: Bool = false,
        losing loss: String? = nil,
        _ operation: @autoclosure @escaping @Sendable () -> Operation,
        _ handler: @escaping Handler
    ) {
        self.method = method
        self.path = Self.base + path
        self.role = role
        self.query = query
        self.factor = factor
        self.isForPeople = isForPeople
        self.loss = loss
        self.operation = operation
        self.handler = handler
    }

    /// All routes of the administration.
    package static let all = groups.flatMap(\.routes)

    /// The routes in groups, each with the tag that its operations have in the OpenAPI document.
    static let groups: [(tag: String, routes: [AdministrationRoute])] = [
        ("applications", applications), ("keys", keys + serviceAccounts), ("providers", providers),
        ("properties", properties), ("mappings", mappings),
        ("users", users + merges + invitations + erasures + imports + bans),
        ("documents", documents),
        ("operators", operators + setup + own), ("audit", audit), ("logins", logins), ("service", service),
    ]

    /// The names of the path's parameters.
    var parameters: [String] {
        path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }
}

extension AdministrationRoute {
    /// Adds the route to the router.
    ///
    /// At each request, the route checks the operator's role, whether the token belongs to a human or to a program, the
    /// second factor, the path and the query. Then it calls the handler.
    func mount(on router: Router<ManagementContext>, administration: Administration) {
        router.on(RouterPath(path), method: method) { request, context in
            guard let caller = context.caller else { throw OperatorGate.refusal }
            if let refusal = refusal(of: caller) {
                context.logger.notice(
                    "operator refused",
                    metadata: [
                        "reason": "\(refusal.reason.rawValue)", "operator": "\(caller.name)",
                        "route": "\(method.rawValue) \(path)",
                    ]
                )
                await administration.audit.noteRefusal(
                    of: "\(method.rawValue) \(String(decoding: request.uri.path.utf8.prefix(200), as: UTF8.self))",
                    application: Self.application(in: context),
                    actor: caller.actor
                )
                throw refusal
            }
            try requireFactor(of: caller, context)
            let call = try AdministrationCall(
                request,
                of: self,
                segments: { context.parameters[$0[...]] },
                caller: caller,
                administration: administration
            )
            return try await handler(call).response(to: request)
        }
    }

    /// Returns the error if the operator's role is too low, or if a program calls a route for humans; nil otherwise.
    private func refusal(of caller: Caller) -> Failure? {
        guard caller.role >= role else { return .roleRequired(role, insteadOf: caller.role) }
        return isForPeople && caller.calling.isMachine ? .personRequired : nil
    }

    /// Checks that an operator who has a second factor has used it recently enough for the route.
    ///
    /// - Throws: `second_factor_reauthentication_required`.
    private func requireFactor(of caller: Caller, _ context: ManagementContext) throws(Failure) {
        guard !caller.calling.satisfies(factor) else { return }
        context.logger.notice(
            "operator refused",
            metadata: [
                "reason": "\(Failure.Reason.factorReauthenticationRequired.rawValue)", "operator": "\(caller.name)",
                "route": "\(method.rawValue) \(path)",
            ]
        )
        throw .factorRequired(factor)
    }

    /// Returns the application that a refused request names, if its id is valid.
    private static func application(in context: ManagementContext) -> String? {
        context.parameters["application"].flatMap { PercentEncoding.decode($0) }.flatMap { ApplicationID($0)?.text }
    }
}

extension Failure {
    fileprivate static func roleRequired(_ role: OperatorRole, insteadOf own: OperatorRole) -> Failure {
        Failure(
            .operatorForbidden,
            "This needs the role \(role.rawValue). Your role is \(own.rawValue). Ask an owner.",
            details: ["role": .string(role.rawValue)]
        )
    }

    fileprivate static func factorRequired(_ factor: OperatorFactorDemand) -> Failure {
        Failure(
            .factorReauthenticationRequired,
            "This needs a recent second factor. Start with POST /admin/v1/operator/secondFactor/start.",
            details: ["seconds": factor.seconds.map(JSONValue.integer) ?? .null]
        )
    }
}

/// An authenticated operator.
struct Caller: Sendable {
    let calling: CallingOperator
    /// The operator's name and network address, for the audit log.
    let actor: ChangeAuthor
    /// The slot that this request takes among the limited number of concurrent requests; nil for a command in a process
    /// of its own.
    ///
    /// The slot becomes free when nothing refers to this caller any more.
    let slot: Slot?

    var name: OperatorName { calling.name }
    var role: OperatorRole { calling.role }
}

/// A request to a route of the administration, read and checked.
struct AdministrationCall: Sendable {
    let administration: Administration
    let caller: Caller
    let query: QueryParameters
    private let parameters: [String: String]
    private let request: Request

    /// The limits of a request body.
    static let bodyLimits: JSONLimits = {
        var limits = JSONLimits.document
        limits.bytes = 1_048_576
        return limits
    }()

    /// The maximum number of bytes of a decoded path parameter.
    ///
    /// The longest is the id of an unconfirmed factor.
    private static let longestParameter = 1024

    /// Reads the parameters in the path and the query of a request.
    ///
    /// The closure `segments` gets the name of a path parameter, and returns its encoded value.
    ///
    /// - Throws: `malformed_request`, `not_found`.
    init(
        _ request: Request,
        of route: AdministrationRoute,
        segments: (String) -> Substring?,
        caller: Caller,
        administration: Administration
    ) throws(Failure) {
        self.administration = administration
        self.caller = caller
        self.request = request
        var parameters: [String: String] = [:]
        for name in route.parameters {
            guard let text = segments(name).flatMap({ PercentEncoding.decode($0) }) else {
                throw Failure(.malformedRequest, "The path must be percent-encoded UTF-8 without NUL.")
            }
            guard text.utf8.count <= Self.longestParameter else {
                throw Failure(.notFound, "This path does not exist.")
            }
            parameters[name] = text
        }
        self.parameters = parameters
        query = try QueryParameters(request.uri.query, known: route.query)
    }

    /// The decoded value of a path parameter.
    subscript(name: String) -> String { parameters[name] ?? "" }

    /// The provider in the path.
    ///
    /// - Throws: `not_found` for an invalid name.
    var provider: ProviderName {
        get throws(Failure) {
            guard let name = ProviderName(self["provider"]), name != .password else {
                throw .noSuchProvider
            }
            return name
        }
    }

    var actor: ChangeAuthor { caller.actor }

    /// If the document of a new user contains roles, checks that the operator who calls may give them.
    ///
    /// Only an owner may give roles. An owner who has a second factor must have used it within five minutes.
    func requireRight(toGiveRolesBy document: JSONValue) async throws(Failure) {
        guard let roles = document.object?.present("roles"), roles.array?.isEmpty != true else { return }
        let (role, factor) = (OperatorRole.owner, OperatorFactorDemand.within5Minutes)
        guard caller.role >= role else {
            let application = ApplicationID(self["application"])?.text
            await administration.audit.noteRefusal(
                of: "\(request.method.rawValue) \(request.uri.path)",
                application: application,
                actor: actor
            )
            throw .roleRequired(role, insteadOf: caller.role)
        }
        guard caller.calling.satisfies(factor) else { throw .factorRequired(factor) }
    }

    /// The precondition in `If-Match`.
    var precondition: Precondition {
        get throws(Failure) {
            guard let value = request.headers[.ifMatch] else { return .missing }
            return try EntityTags(value, header: "If-Match").precondition
        }
    }

    /// Whether the parameter `dryRun` is set, so that nothing is changed.
    var isDryRun: Bool {
        get throws(Failure) { try flag(.dryRun) }
    }

    /// Returns a query parameter that is `false` by default.
    func flag(_ parameter: Parameter) throws(Failure) -> Bool {
        switch query[parameter] {
        case nil, "false": false
        case "true": true
        default: throw Failure(.malformedRequest, "\(parameter.name) must be true or false.")
        }
    }

    /// The page that `limit` and `cursor` request.
    var page: PageRequest {
        get throws(Failure) {
            let limit = try query.integer(.limit)
            return try PageRequest(limit: limit.map { Int(clamping: $0) }, cursor: query[.cursor])
        }
    }

    /// Returns the body, a JSON document.
    // If inlined into the closures of routes, it makes the optimizer of Swift 6.3.1 crash ("While splitting
    // coroutine").
    @inline(never)
    func document(upTo limit: Int = bodyLimits.bytes) async throws(Failure) -> JSONValue {
        try await body(as: ["application/json"], upTo: limit)
    }

    /// Returns the body, a JSON Merge Patch.
    ///
    /// The media type `application/json` is accepted, too, since many clients can send no other type.
    // See the reason at `document`.
    @inline(never)
    func patch() async throws(Failure) -> JSONValue {
        try await body(as: ["application/merge-patch+json", "application/json"])
    }

    private func body(as types: [String], upTo limit: Int = bodyLimits.bytes) async throws(Failure) -> JSONValue {
        var limits = Self.bodyLimits
        limits.bytes = limit
        let bytes = try await request.jsonBody(upTo: limit, as: types)
        return try JSONParser.parse(body: bytes, limits: limits)
    }

    /// Returns whether the header `Accept` of the request names this media type.
    func accepts(_ type: String) -> Bool {
        (request.headers[.accept] ?? "").split(separator: ",").contains { element in
            let essence = element.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
            return essence.elementsEqual(type.utf8)
        }
    }
}
