import NIOCore
import NIOPosix

/// The control requests for issuers of OpenID Connect, at `/openid`, and for OAuth 2.0 providers, at `/oauth2`.
extension ControlAPI {
    func openID(_ call: Call) throws -> Answer {
        let key = call.path.count == 3 ? call.path[2] : nil
        switch (call.method, call.path[1], call.path.count) {
        case (_, "issuers", 2...3): return try items(\.openID.issuers, key, call)
        case ("GET", "tokens", 2): return try tokens(below: "oidc", as: "issuer")
        case ("POST", "tokens", 2):
            return try made(by: call) { world, json, now throws(DataError) in
                ["token": .string(try world.openID.token(json, rsa: world.keys, now: now))]
            }
        case ("POST", "access-tokens", 2):
            return try made(by: call) { world, json, now throws(DataError) in
                try world.openID.accessToken(json, now: now)
            }
        case ("POST", "codes", 2):
            return try made(by: call) { world, json, now throws(DataError) in try world.openID.code(json, now: now) }
        default: throw NotFound()
        }
    }

    func oauth2(_ call: Call) throws -> Answer {
        let key = call.path.count == 3 ? call.path[2] : nil
        switch (call.method, call.path[1], call.path.count) {
        case (_, "providers", 2...3): return try items(\.openID.providers, key, call)
        case ("GET", "tokens", 2): return try tokens(below: "oauth2", as: "provider")
        case ("POST", "access-tokens", 2):
            return try made(by: call) { world, json, now throws(DataError) in
                try world.openID.providerToken(json, now: now)
            }
        default: throw NotFound()
        }
    }

    /// Handles `POST /openid/issuers/NAME/rotate` with `{"kid"?}` on a thread pool, since the generation of an RSA key
    /// would block the event loop.
    func rotateKey(ofIssuer name: String, _ call: Call, on loop: any EventLoop) -> EventLoopFuture<Answer> {
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { [simulation] in
            var reader = try call.reader()
            let kid = try reader.string("kid")
            try reader.finish()
            guard let key = try simulation.rotateKey(ofIssuer: name, kid: kid) else { throw NotFound() }
            return Answer(json: ["kid": key.kid.map { .string($0) } ?? nil])
        }
    }

    private func made(
        by call: Call,
        _ make: (inout World, JSON, _ now: Int) throws(DataError) -> JSON
    ) throws -> Answer {
        let request = try call.json()
        let json = try simulation.update { state, now throws(DataError) in try make(&state.world, request, now) }
        return Answer(status: 201, json: json)
    }

    private func tokens(below root: String, as name: String) throws -> Answer {
        Answer(
            json: simulation.update { state, now in state.world.openID.tokens(below: root, as: name, now: now) }
        )
    }
}
