import NIOCore
import NIOPosix

/// The control port's `/keys`, `/id-tokens` and `/codes`.
extension ControlAPI {
    func keys(_ method: String, _ path: [String]) throws -> Answer {
        guard method == "GET", path.count == 1 else { throw NotFound() }
        return Answer(json: simulation.update { state, _ in state.world.keys.listing })
    }

    /// `POST /keys/rotate`, on a thread that may take its time over two large primes.
    func rotateKeys(on loop: any EventLoop) -> EventLoopFuture<Answer> {
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { [simulation] in
            _ = try simulation.rotateKeys()
            return Answer(json: simulation.update { state, _ in state.world.keys.listing })
        }
    }

    func idTokens(_ method: String, _ body: [UInt8]) throws -> Answer {
        guard method == "POST" else { throw NotFound() }
        let request = try IDTokenRequest(json: try Self.object(body))
        let token = try simulation.update { state, now throws in try state.world.idToken(request, now: now) }
        return Answer(status: 201, json: ["token": .string(try token.signed())])
    }

    func codes(_ method: String, _ body: [UInt8]) throws -> Answer {
        guard method == "POST" else { throw NotFound() }
        let request = try CodeRequest(json: try Self.object(body))
        let code = try simulation.update { state, now throws in try state.world.code(request, now: now) }
        return Answer(status: 201, json: ["code": .string(code)])
    }
}

extension KeyRing {
    /// What `/keys` answers: `{"keys":["older","newer"],"retired":[…]}`.
    fileprivate var listing: JSON {
        [
            "keys": [.string(older.kid), .string(newer.kid)], "retired": .array(retired.map { .string($0.kid) }),
        ]
    }
}
