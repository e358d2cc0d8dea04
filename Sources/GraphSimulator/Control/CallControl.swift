import NIOCore

/// The control port's `/deliver`: lets Facebook call the app, and shows what the app answered.
extension ControlAPI {
    func deliver(_ body: [UInt8], on loop: any EventLoop) -> EventLoopFuture<Answer> {
        let call: Call
        do {
            call = try self.call(JSONReader(try Self.object(body), path: ""))
        } catch {
            return loop.makeFailedFuture(error)
        }
        return Caller.make(call, on: loop).map { reply in
            Answer(
                json: ["status": .integer(reply.status), "body": .string(String(decoding: reply.body, as: UTF8.self))]
            )
        }
        .flatMapErrorThrowing { error in Answer(status: 502, json: ["error": .string("\(error)")]) }
    }

    private func call(_ reader: JSONReader) throws(DataError) -> Call {
        var reader = reader
        let kind = try reader.requiredString("kind")
        let url = try reader.requiredString("url")
        if kind == "handshake" {
            let token = try reader.requiredString("verifyToken")
            let challenge = try reader.string("challenge") ?? "1158201444"
            try reader.finish()
            return try Call.handshake(verifyToken: token, challenge: challenge, to: url)
        }
        let (app, userID, now) = try concerned(&reader)
        let secret = try signature(&reader).secret(of: app)
        let payload = reader.value("payload").map { $0.string ?? $0.graphText }
        let issuedAt = try reader.integer("issuedAt", in: 0...1 << 40) ?? now
        switch kind {
        case "webhook":
            let event = Webhook.permissions(
                userID: userID,
                field: try reader.string("field") ?? "connected",
                verb: try reader.string("verb") ?? "revoked",
                time: issuedAt
            )
            try reader.finish()
            return try Call.webhook(Webhook(body: payload ?? event.graphText, secret: secret), to: url)
        case "deauthorize", "deletion":
            let request = SignedRequest.payload(
                userID: userID,
                issuedAt: issuedAt,
                expiresAt: kind == "deletion" ? issuedAt + 3600 : nil,
                algorithm: try reader.string("algorithm") ?? "HMAC-SHA256"
            )
            try reader.finish()
            return try Call.signedRequest(
                SignedRequest.make(payload: payload ?? request.graphText, secret: secret),
                to: url
            )
        default: throw reader.failure("kind", "expected deauthorize, deletion, webhook or handshake")
        }
    }

    /// The app that is called, how it knows the person, and the time.
    private func concerned(_ reader: inout JSONReader) throws(DataError) -> (app: App, userID: String, now: Int) {
        let (app, person) = (try reader.string("app"), try reader.string("person"))
        return try simulation.update { state, now throws(DataError) in
            let app = try state.world.requireApp(app)
            return (app, try state.world.requirePerson(person).id(for: app.id), now)
        }
    }

    private func signature(_ reader: inout JSONReader) throws(DataError) -> CallSignature {
        switch try reader.string("signWith") {
        case nil: return .appSecret
        case "none": return .none
        case let secret?: return .secret(secret)
        }
    }
}
