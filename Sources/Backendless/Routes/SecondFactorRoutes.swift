import Factors
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import Vocabulary

/// The second step of a login, logins by a passkey, and the factors of the session's own user.
struct SecondFactorRoutes {
    let secondFactor: SecondFactor
    let ownFactors: OwnFactors

    func mount(on routes: ApplicationRoutes) {
        mountSteps(on: routes)
        mountFactors(on: routes)
    }

    private func mountSteps(on routes: ApplicationRoutes) {
        routes.on(.post, "users/secondFactor/start") { request, context, application in
            let body = try await FactorBody.read(request, mayBeEmpty: true)
            guard let pending = try body.text("pending") else {
                let members = try await secondFactor.startReauthentication(
                    of: request.userToken,
                    by: context.apiKey?.label,
                    in: application
                )
                return .json(members)
            }
            let (challenge, expires) = try await secondFactor.start(
                pending,
                factor: try FactorBody.factor(in: body),
                by: context.apiKey?.label,
                from: context.source,
                in: application
            )
            var writer = JSONWriter(capacity: 512)
            writer.object { writer in
                if let sentTo = challenge.sentTo { writer.member("sentTo", sentTo) }
                if let options = challenge.publicKey { writer.member("publicKey", .object(options)) }
                writer.member("expires", expires)
            }
            return .json(writer)
        }
        routes.on(.post, "users/passkey/start") { request, context, application in
            let members = try secondFactor.startPasskeyLogin(
                by: context.client(trustedDevice: nil),
                previousToken: request.userToken,
                in: application
            )
            return .json(members)
        }
        for path in ["users/secondFactor/finish", "users/passkey/finish"] {
            routes.on(.post, path) { request, context, application in
                let body = try await FactorBody.read(request)
                let answer = FactorAnswer(
                    pending: try body.text("pending") ?? "",
                    factor: try body.text("factorId").flatMap { ObjectID($0) },
                    response: try FactorBody.response(in: body),
                    trustsDevice: try body.flag("trustDevice"),
                    idempotencyKey: try request.idempotencyKey(of: body),
                    keyLabel: context.apiKey?.label,
                    source: context.source
                )
                let outcome = try await secondFactor.finish(
                    answer,
                    session: request.userToken,
                    in: application,
                    logger: context.logger
                )
                switch outcome {
                case .signedIn(let finished): return .signedIn(finished)
                case .reauthenticated: return .empty
                }
            }
        }
    }

    private func mountFactors(on routes: ApplicationRoutes) {
        routes.on(.get, "users/factors") { request, _, application in
            let (factors, offered) = try await ownFactors.factors(of: request.userToken, in: application)
            var writer = JSONWriter(capacity: 128 + 256 * factors.count)
            writer.object { writer in
                writer.key("factors")
                writer.array { writer in
                    for factor in factors { FactorBody.write(factor, into: &writer) }
                }
                writer.member("kinds", .array(offered.map { .string($0.rawValue) }))
            }
            return .json(writer)
        }
        routes.on(.post, "users/factors") { request, context, application in
            let body = try await FactorBody.read(request)
            let wish = try FactorBody.wish(in: body)
            let pending = try body.text("pending")
            if wish.kind == .recoveryCode, pending == nil {
                let (id, codes) = try await ownFactors.renewRecoveryCodes(
                    of: request.userToken,
                    in: application,
                    logger: context.logger
                )
                var writer = JSONWriter(capacity: 512)
                writer.object { writer in
                    writer.member("id", id.description)
                    writer.member("kind", wish.kind.rawValue)
                    writer.member("recoveryCodes", .array(codes.map { .string($0.reveal()) }))
                }
                return .json(writer)
            }
            let begun = try await ownFactors.begin(
                wish,
                by: pending.map(FactorHolderClaim.pending) ?? .session(request.userToken),
                keyLabel: context.apiKey?.label,
                from: context.source,
                in: application
            )
            return .json(FactorBody.write(begun))
        }
        routes.on(.post, "users/factors/:id/confirm") { request, context, application in
            let body = try await FactorBody.read(request)
            let pending = try body.text("pending")
            let enrolled = try await ownFactors.confirm(
                context.parameters.get("id") ?? "",
                by: try FactorBody.response(in: body),
                claim: pending.map(FactorHolderClaim.pending) ?? .session(request.userToken),
                idempotencyKey: try request.idempotencyKey(of: body),
                keyLabel: context.apiKey?.label,
                from: context.source,
                in: application,
                logger: context.logger
            )
            switch enrolled {
            case .signedIn(let finished): return .signedIn(finished)
            case .added(let factor, let codes):
                var writer = JSONWriter(capacity: 512)
                FactorBody.write(factor, recoveryCodes: codes, into: &writer)
                return .json(writer)
            }
        }
        routes.on(.delete, "users/factors/:id") { request, context, application in
            guard let id = context.parameters.get("id").flatMap({ ObjectID($0) }) else {
                throw Failure.noSuchFactor
            }
            try await ownFactors.remove(id, of: request.userToken, in: application, logger: context.logger)
            return Response(status: .noContent, headers: [.cacheControl: "no-store"])
        }
    }
}

extension APIContext {
    /// What the client says of itself with a login.
    func client(trustedDevice: String?) -> LoginClient {
        LoginClient(keyLabel: apiKey?.label, trustedDevice: trustedDevice.map(Secret.init))
    }
}

extension Response {
    /// The reply to a login that a second factor has finished: that of the login, with what is told once.
    ///
    /// Names of properties have no hyphen, so no member stands in the way of another.
    static func signedIn(_ finished: FinishedSignIn) -> Response {
        var more = JSONObject()
        if let device = finished.trustedDevice { more.append("trusted-device", .string(device.reveal())) }
        if !finished.recoveryCodes.isEmpty {
            more.append("recovery-codes", .array(finished.recoveryCodes.map { .string($0.reveal()) }))
        }
        return .signedIn(finished.signedIn, adding: more)
    }

    fileprivate static func json(_ object: JSONObject) -> Response {
        var writer = JSONWriter(capacity: 512)
        writer.value(.object(object))
        return .json(writer)
    }
}
