/// The control port's `/twitter/…`.
extension ControlAPI {
    func twitter(_ method: String, _ path: [String], _ body: [UInt8]) throws -> Answer {
        let name = path.dropFirst(2).first
        switch path.dropFirst().first {
        case "consumers": return try twitterConsumers(method, name, body)
        case "people": return try twitterPeople(method, name, body)
        case "tokens": return try twitterTokens(method, name, body)
        default: throw NotFound()
        }
    }

    private func twitterConsumers(_ method: String, _ key: String?, _ body: [UInt8]) throws -> Answer {
        try simulation.update { state, _ throws in
            switch (method, key) {
            case ("GET", nil): return Answer(json: .array(state.world.twitter.consumers.map(\.json)))
            case ("GET", let key?): return Answer(json: try found(state.world.twitter.consumer(key)).json)
            case ("PUT", let key?), ("PATCH", let key?):
                let old: JSON = method == "PUT" ? [:] : try found(state.world.twitter.consumer(key)).json
                let json = old.merging(try Self.object(body)).merging(["key": .string(key)])
                let consumer = try TwitterConsumer(json: json, path: "")
                state.world.twitter.put(consumer)
                return Answer(json: consumer.json)
            case ("DELETE", let key?) where state.world.twitter.removeConsumer(key): return .done
            default: throw NotFound()
            }
        }
    }

    private func twitterPeople(_ method: String, _ key: String?, _ body: [UInt8]) throws -> Answer {
        try simulation.update { state, _ throws in
            switch (method, key) {
            case ("GET", nil): return Answer(json: .array(state.world.twitter.people.map(\.json)))
            case ("GET", let key?): return Answer(json: try found(state.world.twitter.person(key)).json)
            case ("PUT", let key?), ("PATCH", let key?):
                let old: JSON = method == "PUT" ? [:] : try found(state.world.twitter.person(key)).json
                let person = try TwitterPerson(json: old.merging(try Self.object(body)), path: "", key: key)
                state.world.twitter.put(person)
                return Answer(json: person.json)
            case ("DELETE", let key?) where state.world.twitter.removePerson(key): return .done
            default: throw NotFound()
            }
        }
    }

    private func twitterTokens(_ method: String, _ key: String?, _ body: [UInt8]) throws -> Answer {
        try simulation.update { state, _ throws in
            switch (method, key) {
            case ("GET", nil): return Answer(json: .array(state.world.twitter.tokens.map(\.json)))
            case ("GET", let key?): return Answer(json: try found(state.world.twitter.token(namedOrTexted: key)).json)
            case ("POST", nil):
                let request = try TwitterTokenRequest(json: try Self.object(body), path: "")
                return Answer(status: 201, json: try state.world.twitter.mint(request).json)
            case ("PATCH", let key?):
                var token = try found(state.world.twitter.token(namedOrTexted: key))
                try token.apply(try Self.object(body))
                state.world.twitter.put(token)
                return Answer(json: token.json)
            case ("DELETE", let key?):
                state.world.twitter.removeToken(try found(state.world.twitter.token(namedOrTexted: key)).text)
                return .done
            default: throw NotFound()
            }
        }
    }
}
