import Description
import Domain
import Encodings
import Factors
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import PublicAPI

/// The routes that ask for a second factor at a login, and the routes that log in by a passkey.
///
/// Further routes list, add and remove the second factors of the session's user.
struct SecondFactorRoutes {
    let secondFactor: SecondFactor
    let ownFactors: OwnFactors

    func mount(on routes: ApplicationRoutes) {
        mountSteps(on: routes)
        mountFactors(on: routes)
    }

    private func mountSteps(on routes: ApplicationRoutes) {
        routes.on(.post, "users/secondFactor/start", .startSecondFactor) { request, context, application in
            let body = try await FactorBody.read(request, mayBeEmpty: true)
            guard let pending = try body.text("pending") else {
                let members = try await secondFactor.startReauthentication(
                    of: request.userSession,
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
        routes.on(.post, "users/passkey/start", .startPasskeyLogin) { request, context, application in
            let members = try secondFactor.startPasskeyLogin(
                by: context.client(trustedDevice: nil),
                previousSession: request.userSession,
                in: application
            )
            return .json(members)
        }
        for (path, operation) in [
            ("users/secondFactor/finish", Operation.finishSecondFactor), ("users/passkey/finish", .finishPasskeyLogin),
        ] {
            routes.on(.post, path, operation) { request, context, application in
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
                    session: request.userSession,
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
        routes.on(.get, "users/factors", .listFactors) { request, _, application in
            let (factors, offered) = try await ownFactors.factors(of: request.userSession, in: application)
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
        routes.on(.post, "users/factors", .beginFactor) { request, context, application in
            let body = try await FactorBody.read(request)
            let wish = try FactorBody.wish(in: body)
            let pending = try body.text("pending")
            if wish.kind == .recoveryCode, pending == nil {
                let (id, codes) = try await ownFactors.renewRecoveryCodes(
                    of: request.userSession,
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
                by: pending.map(FactorHolderClaim.pending) ?? .session(request.userSession),
                keyLabel: context.apiKey?.label,
                from: context.source,
                in: application
            )
            return .json(FactorBody.write(begun))
        }
        routes.on(.post, "users/factors/:id/confirm", .confirmFactor) { request, context, application in
            let body = try await FactorBody.read(request)
            let pending = try body.text("pending")
            let enrolled = try await ownFactors.confirm(
                context.parameters.get("id") ?? "",
                by: try FactorBody.response(in: body),
                claim: pending.map(FactorHolderClaim.pending) ?? .session(request.userSession),
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
        routes.on(.delete, "users/factors/:id", .removeFactor) { request, context, application in
            guard let id = context.parameters.get("id").flatMap({ ObjectID($0) }) else {
                throw Failure.noSuchFactor
            }
            try await ownFactors.remove(id, of: request.userSession, in: application, logger: context.logger)
            return Response(status: .noContent, headers: [.cacheControl: "no-store"])
        }
    }
}

extension Response {
    /// Returns the response to a login that a second factor has completed.
    ///
    /// It may contain a new token of a trusted device and new recovery codes, which are shown only once. The names of
    /// these members contain a hyphen, which no property name does. So they never collide with a property.
    static func signedIn(_ finished: FinishedLogin) -> Response {
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

extension Operation {
    fileprivate static let startSecondFactor = Operation(
        "startSecondFactor",
        under: "secondFactor",
        "Starts the check of an offered factor, or a step-up of a session.",
        more: """
            With pending and factorId: for sms and email it sends the code, for a passkey it returns the options for \
            the browser. For totp and recoveryCode it does nothing and is optional. Without pending, with a session: \
            it returns a pending step-up and the user's factors.
            """,
        marks: .mayHaveSession,
        body: Content(.factorStart, isRequired: false),
        .success(
            "The data to use the factor, or the pending step-up.",
            .either([.factorChallenge, .pendingStep])
        ),
        or: [.forbidden, .notFound]
    )

    fileprivate static let startPasskeyLogin = Operation(
        "startPasskeyLogin",
        under: "secondFactor",
        "Starts a login with a passkey of any user.",
        more: "Needs secondFactor.passkeys.login, otherwise factor_not_offered.",
        parameters: [.previousUserToken],
        .success("The passkey options for the browser.", .passkeyLogin),
        or: [.badRequest, .forbidden]
    )

    fileprivate static let finishSecondFactor = Operation(
        "finishSecondFactor",
        under: "secondFactor",
        "Verifies a factor, and finishes the login or the step-up of the session.",
        more: """
            For a login, the response is that of the pending login. For a step-up, it is empty. After five wrong \
            attempts the pending login or step-up ends.
            """,
        marks: .mayHaveSession,
        parameters: [.idempotencyKey],
        body: Content(.factorAnswer),
        .success(
            "For a login, the user with the session. For a step-up, nothing.",
            as: "FactorShown",
            headers: [.userCreated, .missingPermissions],
            .user
        ),
        or: [.forbidden, .conflict, .unprocessable, .timeout]
    )

    fileprivate static let finishPasskeyLogin = finishSecondFactor.again(
        "finishPasskeyLogin",
        "Logs in with a passkey.",
        more: "The same as users/secondFactor/finish, as counterpart of users/passkey/start."
    )

    fileprivate static let listFactors = Operation(
        "listFactors",
        under: "secondFactor",
        "Lists the second factors of the session's user, and the kinds that can be enrolled.",
        more: "The response contains no secrets.",
        marks: .session,
        .success(
            "The factors, oldest first.",
            .object(["factors": .array(of: .factor), "kinds": .array(of: .factorKind)])
        )
    )

    fileprivate static let beginFactor = Operation(
        "beginFactor",
        under: "secondFactor",
        "Starts the enrolment of a factor, or creates new recovery codes.",
        more: """
            Needs a session with a recent authentication, and with a recent second factor if the user has one. Or the \
            pending login that requires an enrolment. Nothing is stored before the confirmation. recoveryCode with a \
            session takes effect at once: the response has the codes.
            """,
        marks: .mayHaveSession,
        body: Content(.factorWish),
        .success("The data to confirm the factor.", .pendingEnrolment),
        or: [.forbidden, .conflict, .unprocessable]
    )

    fileprivate static let confirmFactor = Operation(
        "confirmFactor",
        under: "secondFactor",
        "Confirms the enrolment of a factor.",
        more: """
            With the session or the pending login that started it. For a pending login this ends the login, and the \
            response is that of the login, with recovery-codes if they are new. The user is notified by mail.
            """,
        marks: .mayHaveSession,
        parameters: [Parameter("id", in: .path, .string, "The id from users/factors."), .idempotencyKey],
        body: Content(.factorConfirmation),
        .success(
            "The factor, with recoveryCodes if it is the first one; or the user with the session.",
            .anyObject.open.described("A Factor; with pending a User.")
        ),
        or: [.forbidden, .notFound, .conflict, .unprocessable, .timeout]
    )

    fileprivate static let removeFactor = Operation(
        "removeFactor",
        under: "secondFactor",
        "Removes a factor of the session's user.",
        more: """
            Has the same requirements as an enrolment. With the last factor the recovery codes are removed. If the \
            application requires a factor, the last one cannot be removed: last_factor. All trusted devices are \
            forgotten. The user is notified by mail.
            """,
        marks: .session,
        parameters: [Parameter("id", in: .path, .string, "The id from the list.")],
        .success("The factor is removed.", status: 204),
        or: [.notFound, .conflict]
    )
}
