import NIOCore

/// The control port's requests and replies: everything that ``GraphSimulator`` can do, as JSON.
struct ControlAPI: Sendable {
    /// An answer of the control port.
    struct Answer: Sendable {
        var status = 200
        var json: JSON

        static let done = Answer(json: ["ok": true])
    }

    /// Nothing at this address, or nothing of that name.
    struct NotFound: Error {}

    let simulation: Simulation
    let closeConnections: @Sendable () -> Void

    /// Answers one request.
    /// - Parameters:
    ///   - method: The HTTP method.
    ///   - path: The path's components, decoded.
    ///   - query: The query's parameters, decoded.
    ///   - body: JSON, or nothing.
    ///   - loop: The caller's event loop, which waits for nothing.
    /// - Returns: What was asked for, or what is wrong with the request.
    func answer(
        method: String,
        path: [String],
        query: [(name: String, value: String)],
        body: [UInt8],
        on loop: any EventLoop
    ) -> EventLoopFuture<Answer> {
        let answer: EventLoopFuture<Answer> =
            switch (method, path.first ?? "", path.count) {
            case ("POST", "keys", 2) where path[1] == "rotate": rotateKeys(on: loop)
            case ("POST", "deliver", 1): deliver(body, on: loop)
            default:
                loop.makeCompletedFuture {
                    try answerAtOnce(method: method, path: path, query: query, body: body)
                }
            }
        return answer.recover { Self.refusal($0, method: method, path: path) }
    }

    private func answerAtOnce(
        method: String,
        path: [String],
        query: [(name: String, value: String)],
        body: [UInt8]
    ) throws -> Answer {
        switch (path.first ?? "", path.count) {
        case ("apps", 1...2): return try apps(method, path.dropFirst().first, body)
        case ("people", 1...2): return try people(method, path.dropFirst().first, body)
        case ("tokens", 1...2): return try tokens(method, path.dropFirst().first, body)
        case ("removed-fields", 1...2): return try removedFields(method, path.dropFirst().first, body)
        case ("keys", 1): return try keys(method, path)
        case ("id-tokens", 1): return try idTokens(method, body)
        case ("codes", 1): return try codes(method, body)
        case ("twitter", 2...3): return try twitter(method, path, body)
        case ("sms", 1): return try sms(method)
        case ("faults", 1...2): return try faults(method, path.dropFirst().first, body)
        case ("requests", 1): return try requests(method, query)
        case ("counters", 1) where method == "GET":
            return Answer(json: simulation.update { state, _ in state.log.counters.json })
        case ("connections", 1) where method == "DELETE":
            closeConnections()
            return .done
        case ("clock", 1): return try clock(method, body)
        case ("reset", 1) where method == "POST":
            try simulation.reset()
            return .done
        case ("health", 1) where method == "GET": return .done
        default: throw NotFound()
        }
    }

    private static func refusal(_ error: any Error, method: String, path: [String]) -> Answer {
        switch error {
        case let error as DataError: Answer(status: 400, json: ["error": .string(error.description)])
        case is NotFound:
            Answer(status: 404, json: ["error": .string("nothing at \(method) /\(path.joined(separator: "/"))")])
        default: Answer(status: 500, json: ["error": .string("\(error)")])
        }
    }

    private func apps(_ method: String, _ id: String?, _ body: [UInt8]) throws -> Answer {
        try simulation.update { state, _ throws in
            switch (method, id) {
            case ("GET", nil): return Answer(json: .array(state.world.apps.map(\.json)))
            case ("GET", let id?): return Answer(json: try found(state.world.app(id)).json)
            case ("PUT", let id?), ("PATCH", let id?):
                let old: JSON = method == "PUT" ? [:] : try found(state.world.app(id)).json
                let app = try App(json: old.merging(try Self.object(body)).merging(["id": .string(id)]), path: "")
                state.world.put(app)
                return Answer(json: app.json)
            case ("DELETE", let id?) where state.world.removeApp(id): return .done
            default: throw NotFound()
            }
        }
    }

    private func people(_ method: String, _ key: String?, _ body: [UInt8]) throws -> Answer {
        try simulation.update { state, _ throws in
            switch (method, key) {
            case ("GET", nil): return Answer(json: .array(state.world.people.map(\.json)))
            case ("GET", let key?): return Answer(json: try found(state.world.person(key)).json)
            case ("PUT", let key?), ("PATCH", let key?):
                let old: JSON = method == "PUT" ? [:] : try found(state.world.person(key)).json
                let person = try Person(json: old.merging(try Self.object(body)), path: "", key: key)
                for friend in person.friends where state.world.person(friend) == nil {
                    throw DataError(path: "friends", reason: "no person \"\(friend)\"")
                }
                state.world.put(person)
                return Answer(json: person.json)
            case ("DELETE", let key?) where state.world.removePerson(key): return .done
            default: throw NotFound()
            }
        }
    }

    private func removedFields(_ method: String, _ name: String?, _ body: [UInt8]) throws -> Answer {
        try simulation.update { state, _ throws in
            switch (method, name) {
            case ("GET", nil):
                return Answer(json: .object(state.world.removedFields.map { .init($0.name, $0.json) }))
            case ("PUT", let name?):
                let field = try RemovedField(name, json: try Self.object(body), path: "")
                state.world.put(field)
                return Answer(json: field.json)
            case ("DELETE", let name?) where state.world.bringBack(field: name): return .done
            default: throw NotFound()
            }
        }
    }

    private func tokens(_ method: String, _ key: String?, _ body: [UInt8]) throws -> Answer {
        try simulation.update { state, now throws in
            switch (method, key) {
            case ("GET", nil):
                let all = state.world.tokens.values.sorted { ($0.name ?? "~", $0.text) < ($1.name ?? "~", $1.text) }
                return Answer(json: .array(all.map(\.json)))
            case ("GET", let key?): return Answer(json: try found(state.world.token(namedOrTexted: key)).json)
            case ("POST", nil):
                let request = try TokenRequest(json: try Self.object(body), path: "")
                return Answer(status: 201, json: try state.world.mint(request, now: now).json)
            case ("PATCH", let key?):
                var token = try found(state.world.token(namedOrTexted: key))
                try token.apply(try Self.object(body))
                state.world.put(token)
                return Answer(json: token.json)
            case ("DELETE", let key?):
                _ = state.world.removeToken(try found(state.world.token(namedOrTexted: key)).text)
                return .done
            default: throw NotFound()
            }
        }
    }

    private func sms(_ method: String) throws -> Answer {
        try simulation.update { state, _ throws in
            switch method {
            case "GET": return Answer(json: .array(state.world.gateway.inbox.map(\.json)))
            case "DELETE":
                state.world.gateway.inbox = []
                return .done
            default: throw NotFound()
            }
        }
    }

    private func faults(_ method: String, _ id: String?, _ body: [UInt8]) throws -> Answer {
        try simulation.update { state, _ throws in
            switch (method, id) {
            case ("GET", nil): return Answer(json: .array(state.faults.entries.map(\.json)))
            case ("POST", nil):
                let id = state.faults.add(try Fault(json: try Self.object(body), path: ""))
                return Answer(status: 201, json: ["id": .integer(id)])
            case ("DELETE", nil):
                state.faults.removeAll()
                return .done
            case ("DELETE", let id?):
                guard let number = Int(id), state.faults.remove(number) else { throw NotFound() }
                return .done
            default: throw NotFound()
            }
        }
    }

    private func requests(_ method: String, _ query: [(name: String, value: String)]) throws -> Answer {
        switch method {
        case "GET":
            let path = query.last { $0.name == "path" }?.value
            let since = query.last { $0.name == "since" }.flatMap { Int($0.value) } ?? 0
            let all = simulation.update { state, _ in state.log.requests }
            let wanted = all.filter { request in
                request.number > since && (path.map { $0.utf8.elementsEqual(request.path.utf8) } ?? true)
            }
            return Answer(json: .array(wanted.map(\.json)))
        case "DELETE":
            simulation.update { state, _ in state.log.clear() }
            return .done
        default: throw NotFound()
        }
    }

    private func clock(_ method: String, _ body: [UInt8]) throws -> Answer {
        if method == "PUT" {
            var reader = try JSONReader(try Self.object(body), path: "")
            // A century either way, so that no sum of times can overflow.
            let century = 100 * 366 * 86400
            guard let offset = try reader.integer("offset", in: -century...century) else {
                throw reader.failure("offset", "is missing")
            }
            try reader.finish()
            simulation.update { state, _ in state.offset = offset }
        } else if method != "GET" {
            throw NotFound()
        }
        return Answer(
            json: simulation.update { state, now in ["now": .integer(now), "offset": .integer(state.offset)] }
        )
    }

    func found<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw NotFound() }
        return value
    }

    static func object(_ body: [UInt8]) throws(DataError) -> JSON {
        body.isEmpty ? [:] : try JSON(parsing: body)
    }
}

extension Token {
    fileprivate mutating func apply(_ json: JSON) throws(DataError) {
        var reader = try JSONReader(json, path: "")
        if let text = try reader.string("kind") {
            guard let kind = TokenKind(rawValue: text) else {
                let kinds = TokenKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw reader.failure("kind", "expected one of \(kinds)")
            }
            self.kind = kind
        }
        scopes = try reader.strings("scopes") ?? scopes
        expiresAt = try reader.integer("expiresAt", in: 0...Int.max) ?? expiresAt
        dataAccessExpiresAt = try reader.integer("dataAccessExpiresAt", in: 0...Int.max) ?? dataAccessExpiresAt
        try reader.finish()
    }
}

extension GraphSimulator.Counters {
    fileprivate var json: JSON {
        [
            "connections": .integer(connections), "openConnections": .integer(openConnections),
            "requests": .integer(requests),
            "requestsByPath": .object(
                requestsByPath.sorted { $0.key < $1.key }.map { .init($0.key, .integer($0.value)) }
            ),
            "repliesByStatus": .object(
                repliesByStatus.sorted { $0.key < $1.key }.map { .init(String($0.key), .integer($0.value)) }
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
