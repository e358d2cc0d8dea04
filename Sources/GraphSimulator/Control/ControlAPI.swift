import Encodings
import NIOCore
import NIOHTTP1
import NIOPosix

/// A connection to the control port, at which tests configure the simulator by requests with JSON.
final class ControlConnection: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPServerRequestFull
    typealias OutboundOut = HTTPServerResponsePart

    private let control: ControlAPI

    init(control: ControlAPI) {
        self.control = control
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let request = unwrapInboundIn(data)
        control.answer(request, on: context.eventLoop).assumeIsolated().whenSuccess { answer in
            self.write(answer, to: request.head, context: context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func write(_ answer: ControlAPI.Answer, to request: HTTPRequestHead, context: ChannelHandlerContext) {
        let text = ByteBuffer(string: answer.json.plainText + "\n")
        let headers: HTTPHeaders = [
            "Content-Type": "application/json", "Content-Length": String(text.readableBytes),
            "Cache-Control": "no-store", "Connection": request.leavesOpen ? "keep-alive" : "close",
        ]
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(text))), promise: nil)
        let promise = request.leavesOpen ? nil : context.eventLoop.makePromise(of: Void.self)
        promise?.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: promise)
    }
}

/// Handles the requests to the control port, at which tests configure the simulator.
///
/// The requests offer everything that ``GraphSimulator`` can do, with JSON in place of Swift values.
struct ControlAPI: Sendable {
    /// A response of the control port.
    struct Answer: Sendable {
        var status = 200
        var json: JSON

        static let done = Answer(json: ["ok": true])
    }

    /// An error: the path of the control request is unknown, or contains the key of an item that does not exist.
    struct NotFound: Error {}

    /// A control request, split into its parts.
    struct Call {
        let method: String
        let path: [String]
        let query: [(name: String, value: String)]
        let body: [UInt8]

        /// Parses the body; an empty body is an empty object.
        func json() throws(DataError) -> JSON {
            body.isEmpty ? [:] : try JSON(parsing: body)
        }

        func reader() throws(DataError) -> JSONReader {
            try JSONReader(json())
        }
    }

    let simulation: Simulation
    let closeConnections: @Sendable () -> Void

    /// Handles a control request.
    ///
    /// - Parameters:
    ///   - request: The request. Its body is JSON or empty.
    ///   - loop: The event loop of the returned future. This method does not block it.
    /// - Returns: The response, which may report an error.
    func answer(_ request: NIOHTTPServerRequestFull, on loop: any EventLoop) -> EventLoopFuture<Answer> {
        let address = GraphRequest(head: request.head, body: nil)
        let call = Call(
            method: request.head.method.rawValue,
            path: address.components,
            query: address.parameters,
            body: request.body.map { Array($0.readableBytesView) } ?? []
        )
        let answer: EventLoopFuture<Answer> =
            switch (call.method, call.path.first ?? "", call.path.count) {
            case ("POST", "keys", 2) where call.path[1] == "rotate": rotateKeys(on: loop)
            case ("POST", "openid", 4) where call.path[1] == "issuers" && call.path[3] == "rotate":
                rotateKey(ofIssuer: call.path[2], call, on: loop)
            case ("POST", "deliver", 1): deliver(call, on: loop)
            default: loop.makeCompletedFuture { try answerAtOnce(call) }
            }
        return answer.recover { error in
            switch error {
            case let error as DataError: Answer(status: 400, json: ["error": .string(error.description)])
            case is NotFound:
                Answer(status: 404, json: ["error": "nothing at \(call.method) /\(address.path)"])
            default: Answer(status: 500, json: ["error": "\(error)"])
            }
        }
    }

    private func answerAtOnce(_ call: Call) throws -> Answer {
        let name = call.path.dropFirst().first
        switch (call.path.first ?? "", call.path.count) {
        case ("apps", 1...2): return try items(\.apps, name, call)
        case ("people", 1...2): return try items(\.people, name, call)
        case ("tokens", 1...2): return try tokens(name, call)
        case ("removed-fields", 1) where call.method == "GET":
            return show { state in .object(state.world.removedFields.map { ($0.name, $0.json) }) }
        case ("removed-fields", 2): return try items(\.removedFields, name, call)
        case ("openid", 2...3): return try openID(call)
        case ("oauth2", 2...3): return try oauth2(call)
        case ("twitter", 2...3): return try twitter(name, call.path.dropFirst(2).first, call)
        case ("faults", 1...2): return try faults(name, call)
        case ("requests", 1) where call.method == "GET": return requests(call.query)
        case ("clock", 1): return try clock(call)
        case _ where call.path.count > 1: throw NotFound()
        default: break
        }
        switch (call.method, call.path.first) {
        case ("GET", "keys"): return show { $0.world.keys.listing }
        case ("POST", "id-tokens"):
            let request = try IDTokenRequest(json: call.json())
            let token = try simulation.update { state, now throws in try state.world.idToken(request, now: now) }
            return Answer(status: 201, json: ["token": .string(try token.signed())])
        case ("POST", "codes"):
            let request = try CodeRequest(json: call.json())
            let code = try simulation.update { state, now throws in try state.world.code(request, now: now) }
            return Answer(status: 201, json: ["code": .string(code)])
        case ("GET", "sms"): return show { .array($0.world.gateway.inbox.map(\.json)) }
        case ("DELETE", "sms"): simulation.update { state, _ in state.world.gateway.inbox = [] }
        case ("DELETE", "requests"): simulation.update { state, _ in state.log.clear() }
        case ("GET", "counters"): return show { $0.log.counters.json }
        case ("DELETE", "connections"): closeConnections()
        case ("POST", "reset"): try simulation.reset()
        case ("GET", "health"): break
        default: throw NotFound()
        }
        return .done
    }

    private func show(_ json: (Simulation.State) -> JSON) -> Answer {
        Answer(json: simulation.update { state, _ in json(state) })
    }

    /// Handles a control request for items that have keys, such as apps and users.
    ///
    /// GET without a key lists all items. With a key, GET shows an item, PUT creates or replaces it, PATCH changes it,
    /// and DELETE removes it.
    func items<Item: Keyed>(
        _ items: WritableKeyPath<World, [Item]>,
        _ key: String?,
        _ call: Call
    ) throws -> Answer {
        try simulation.update { state, _ throws in
            guard let key else {
                guard call.method == "GET" else { throw NotFound() }
                return Answer(json: .array(state.world[keyPath: items].map(\.json)))
            }
            let old = state.world[keyPath: items][key]
            switch (call.method, old) {
            case ("GET", let old?): return Answer(json: old.json)
            case ("DELETE", _?):
                state.world[keyPath: items][key] = nil
                return .done
            case ("PUT", _), ("PATCH", _?):
                let json = (call.method == "PUT" ? nil : old?.json) ?? [:]
                let item = try Item(json: json.merging(call.json()), path: "", key: key)
                try item.check(in: state.world, path: "")
                state.world[keyPath: items][key] = item
                return Answer(json: item.json)
            default: throw NotFound()
            }
        }
    }

    private func tokens(_ key: String?, _ call: Call) throws -> Answer {
        try simulation.update { state, now throws in
            switch (call.method, key, key.flatMap { state.world.token(namedOrTexted: $0) }) {
            case ("GET", nil, _):
                let all = state.world.tokens.values.sorted { ($0.name ?? "~", $0.text) < ($1.name ?? "~", $1.text) }
                return Answer(json: .array(all.map(\.json)))
            case ("POST", nil, _):
                let request = try TokenRequest(json: call.json(), path: "")
                return Answer(status: 201, json: try state.world.mint(request, now: now).json)
            case ("GET", _, let token?): return Answer(json: token.json)
            case ("PATCH", _, var token?):
                try token.apply(call.json())
                state.world.tokens[token.text] = token
                return Answer(json: token.json)
            case ("DELETE", _, let token?):
                state.world.tokens[token.text] = nil
                return .done
            default: throw NotFound()
            }
        }
    }

    /// Handles the control requests whose path begins with `/twitter/`.
    private func twitter(_ kind: String?, _ key: String?, _ call: Call) throws -> Answer {
        switch kind {
        case "consumers": return try items(\.twitter.consumers, key, call)
        case "people": return try items(\.twitter.people, key, call)
        case "tokens": break
        default: throw NotFound()
        }
        return try simulation.update { state, _ throws in
            switch (call.method, key, key.flatMap { state.world.twitter.token(namedOrTexted: $0) }) {
            case ("GET", nil, _): return Answer(json: .array(state.world.twitter.tokens.map(\.json)))
            case ("POST", nil, _):
                let request = try GraphSimulator.TwitterTokenRequest(json: call.json(), path: "")
                return Answer(status: 201, json: try state.world.twitter.mint(request).json)
            case ("GET", _, let token?): return Answer(json: token.json)
            case ("PATCH", _, var token?):
                var reader = try call.reader()
                token.revoked = try reader.bool("revoked") ?? token.revoked
                try reader.finish()
                state.world.twitter.put(token)
                return Answer(json: token.json)
            case ("DELETE", _, let token?):
                state.world.twitter.tokens.removeAll { $0.text == token.text }
                return .done
            default: throw NotFound()
            }
        }
    }

    private func faults(_ id: String?, _ call: Call) throws -> Answer {
        try simulation.update { state, _ throws in
            switch (call.method, id) {
            case ("GET", nil): return Answer(json: .array(state.faults.entries.map(\.json)))
            case ("POST", nil):
                let id = state.faults.add(try Fault(json: call.json()))
                return Answer(status: 201, json: ["id": .integer(id)])
            case ("DELETE", nil): state.faults.removeAll()
            case ("DELETE", let id?) where Int(id).map { state.faults.remove($0) } ?? false: break
            default: throw NotFound()
            }
            return .done
        }
    }

    private func requests(_ query: [(name: String, value: String)]) -> Answer {
        let path = query.last { $0.name == "path" }?.value
        let since = query.last { $0.name == "since" }.flatMap { Int($0.value) } ?? 0
        let all = simulation.update { state, _ in state.log.requests }
        let wanted = all.filter { $0.number > since && (path?.hasSameBytes(as: $0.path) ?? true) }
        return Answer(json: .array(wanted.map(\.json)))
    }

    private func clock(_ call: Call) throws -> Answer {
        if call.method == "PUT" {
            var reader = try call.reader()
            guard let offset = try reader.integer("offset", in: .century) else {
                throw reader.failure("offset", "is missing")
            }
            try reader.finish()
            simulation.update { state, _ in state.offset = offset }
        } else if call.method != "GET" {
            throw NotFound()
        }
        return Answer(
            json: simulation.update { state, now in ["now": .integer(now), "offset": .integer(state.offset)] }
        )
    }

    /// Handles `POST /keys/rotate` on a thread pool, since the generation of an RSA key would block the event loop.
    private func rotateKeys(on loop: any EventLoop) -> EventLoopFuture<Answer> {
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { [self] in
            _ = try simulation.rotateKeys()
            return show { $0.world.keys.listing }
        }
    }

    // MARK: - Calls to the app

    /// Handles `POST /deliver`: sends a callback or a webhook to an app, as Facebook would, and returns the app's
    /// response.
    private func deliver(_ call: Call, on loop: any EventLoop) -> EventLoopFuture<Answer> {
        loop.makeCompletedFuture { try outgoing(call.reader()) }
            .flatMap { outgoing in
                Caller.make(outgoing, on: loop)
                    .map { reply in
                        let body = reply.body.map { String(buffer: $0) } ?? ""
                        return Answer(json: ["status": .integer(Int(reply.head.status.code)), "body": .string(body)])
                    }
                    .recover { error in Answer(status: 502, json: ["error": "\(error)"]) }
            }
    }

    private func outgoing(_ reader: JSONReader) throws(DataError) -> OutgoingCall {
        var reader = reader
        let kind = try reader.requiredString("kind")
        let url = try reader.requiredString("url")
        if kind == "handshake" {
            let token = try reader.requiredString("verifyToken")
            let challenge = try reader.string("challenge") ?? "1158201444"
            try reader.finish()
            return try .handshake(verifyToken: token, challenge: challenge, to: url)
        }
        var signed = SignedCall(person: try reader.string("person"), app: try reader.string("app"))
        switch try reader.string("signWith") {
        case nil: break
        case "none": signed.signature = .none
        case let secret?: signed.signature = .secret(secret)
        }
        signed.payload = reader.value("payload").map { $0.string ?? $0.graphText }
        let issuedAt = try reader.integer("issuedAt", in: 0...1 << 40) ?? simulation.update { _, now in now }
        signed.time = issuedAt
        let call = signed
        switch kind {
        case "webhook":
            let field = try reader.string("field") ?? "connected"
            let verb = try reader.string("verb") ?? "revoked"
            try reader.finish()
            let webhook = try simulation.update { state, now throws(DataError) in
                try state.world.webhook(call, field: field, verb: verb, now: now)
            }
            return try .webhook(webhook, to: url)
        case "deauthorize", "deletion":
            let algorithm = try reader.string("algorithm") ?? "HMAC-SHA256"
            let expiresAt = kind == "deletion" ? issuedAt + 3600 : nil
            try reader.finish()
            let text = try simulation.update { state, now throws(DataError) in
                try state.world.signedRequest(call, algorithm: algorithm, expiresAt: expiresAt, now: now)
            }
            return try .signedRequest(text, to: url)
        default: throw reader.failure("kind", "expected deauthorize, deletion, webhook or handshake")
        }
    }
}

extension ClosedRange<Int> {
    /// The range of the time offsets that control requests may contain, in seconds.
    ///
    /// The range is a century into the past and into the future. So no sum of times can overflow.
    static let century = -100 * 366 * 86400...100 * 366 * 86400
}

extension KeyRing {
    /// The ids of the published and of the retired signing keys: `{"keys":["older","newer"],"retired":[…]}`.
    fileprivate var listing: JSON {
        ["keys": [.string(older.kid), .string(newer.kid)], "retired": .strings(retired.map(\.kid))]
    }
}

extension GraphSimulator.Counters {
    fileprivate var json: JSON {
        [
            "connections": .integer(connections), "openConnections": .integer(openConnections),
            "requests": .integer(requests),
            "requestsByPath": .object(
                requestsByPath.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) }
            ),
            "repliesByStatus": .object(
                repliesByStatus.sorted { $0.key < $1.key }.map { (String($0.key), .integer($0.value)) }
            ),
        ]
    }
}

extension LoggedRequest {
    fileprivate var json: JSON {
        func pairs(_ list: [(name: String, value: String)]) -> JSON {
            .array(list.map { [.string($0.name), .string($0.value)] })
        }
        let outcome =
            switch outcome {
            case .pending: "pending"
            case .answered: "answered"
            case .interrupted: "interrupted"
            case .abandoned: "abandoned"
            }
        return [
            "number": .integer(number), "time": .integer(time), "connection": .integer(connection),
            "method": .string(method), "uri": .string(uri), "path": .string(path), "parameters": pairs(parameters),
            "headers": pairs(headers), "body": .string(String(decoding: body, as: UTF8.self)),
            "faults": .array(faults.map { .integer($0) }), "outcome": .string(outcome),
            "status": status.map { .integer($0) } ?? nil,
        ]
    }
}
