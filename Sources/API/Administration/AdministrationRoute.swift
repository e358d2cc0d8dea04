import Administration
import HTTP
package import HTTPTypes
import Hummingbird
import Logging
package import Vocabulary

/// A route of the administration: what it takes, who may call it, and what it does.
///
/// All of them are in `all`; a request can reach nothing else under `/admin`, so whoever walks the list walks
/// everything.
package struct AdministrationRoute: Sendable {
    typealias Handler = @Sendable (AdministrationCall) async throws -> AdministrationReply

    package let method: HTTPRequest.Method
    /// Such as `/admin/v1/applications/{application}`.
    package let path: String
    /// The least role that may call it.
    package let role: OperatorRole
    /// Names of the query parameters that it takes.
    package let query: [String]
    /// How lately an operator who has a second factor must have shown it.
    package let factor: OperatorFactorDemand
    /// Whether it is about sessions or second factors of people: a program's token is refused.
    package let isForPeople: Bool
    let handler: Handler

    /// What every path begins with.
    static let base = "/admin/v1/"

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ role: OperatorRole,
        query: [String] = [],
        factor: OperatorFactorDemand = .within12Hours,
        forPeople isForPeople: Bool = false,
        _ handler: @escaping Handler
    ) {
        self.method = method
        self.path = Self.base + path
        self.role = role
        self.query = query
        self.factor = factor
        self.isForPeople = isForPeople
        self.handler = handler
    }

    /// Every route of the administration.
    package static let all =
        applications + keys + providers + properties + mappings + users + invitations + erasures + imports + bans
        + documents + operators + setup + own + audit + logins + service

    /// The names of the path's parameters.
    var parameters: [String] {
        path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }
}

extension [String] {
    /// The query parameters of lists.
    static let page = ["limit", "cursor"]
}

extension AdministrationRoute {
    /// Mounts the route: role, whose token it is, second factor, path, query, then what it does.
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
                context: context,
                caller: caller,
                administration: administration
            )
            return try await handler(call).response(to: request)
        }
    }

    /// Why the caller may not call the route at all; nil when nothing stands in the way.
    private func refusal(of caller: Caller) -> Failure? {
        guard caller.role >= role else { return .roleRequired(role, insteadOf: caller.role) }
        return isForPeople && caller.calling.isMachine ? .personRequired : nil
    }

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

    /// The application that a refused request was about, if it can be one.
    private static func application(in context: ManagementContext) -> String? {
        context.parameters["application"].flatMap { PercentEncoding.decode($0) }.flatMap { ApplicationID($0)?.text }
    }
}

extension Failure {
    fileprivate static func roleRequired(_ role: OperatorRole, insteadOf own: OperatorRole) -> Failure {
        Failure(
            .operatorForbidden,
            "This needs the role \(role.rawValue); yours is \(own.rawValue).",
            details: ["role": .string(role.rawValue)]
        )
    }

    fileprivate static func factorRequired(_ factor: OperatorFactorDemand) -> Failure {
        Failure(
            .factorReauthenticationRequired,
            "This needs a second factor that was shown of late: POST /admin/v1/operator/secondFactor/start.",
            details: ["seconds": factor.seconds.map(JSONValue.integer) ?? .null]
        )
    }
}

/// An operator who calls, as the gate found out.
struct Caller: Sendable {
    let calling: CallingOperator
    /// For the audit log.
    let actor: Actor
    /// One of the places for administrative requests; it is free again when nobody holds it any more.
    let slot: Slot

    var name: OperatorName { calling.name }
    var role: OperatorRole { calling.role }
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

    /// Bytes of the longest path parameter, decoded; the longest is the id of a factor that is not confirmed yet.
    private static let longestParameter = 1024

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
                throw .noSuchProvider
            }
            return name
        }
    }

    var actor: Actor { caller.actor }

    /// Demands of a caller whose document gives roles to a new user what giving one to a user takes.
    ///
    /// - Throws: `operator_forbidden`, `second_factor_reauthentication_required`.
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

    /// What `If-Match` demands.
    var precondition: Precondition {
        get throws(Failure) {
            guard let value = request.headers[.ifMatch] else { return .missing }
            return try EntityTags(value, header: "If-Match").precondition
        }
    }

    /// Whether `dryRun` says that nothing is to be changed.
    var isDryRun: Bool {
        get throws(Failure) {
            switch query["dryRun"] {
            case nil, "false": false
            case "true": true
            default: throw Failure(.malformedRequest, "dryRun must be true or false.")
            }
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
    func document(upTo limit: Int = bodyLimits.bytes) async throws(Failure) -> JSONValue {
        try await body(as: ["application/json"], upTo: limit)
    }

    /// The body, a JSON Merge Patch; many clients can only call it JSON.
    // As `document`.
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

    /// Whether the caller asks for this media type by name.
    func accepts(_ type: String) -> Bool {
        (request.headers[.accept] ?? "").split(separator: ",").contains { element in
            let essence = element.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
            return essence.elementsEqual(type.utf8)
        }
    }
}
