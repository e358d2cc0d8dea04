import Description
import Domain
import Encodings
import Factors
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import PublicAPI

/// The routes of second factors in logins, of logins with a passkey, and of the factors of the session's user.
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
        routes.on(.post, "users/passkey/start", .startPasskeyLogin) { request, context, application in
            let members = try secondFactor.startPasskeyLogin(
                by: context.client(trustedDevice: nil),
                previousToken: request.userToken,
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
        routes.on(.get, "users/factors", .listFactors) { request, _, application in
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
        routes.on(.post, "users/factors", .beginFactor) { request, context, application in
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
        routes.on(.post, "users/factors/:id/confirm", .confirmFactor) { request, context, application in
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
        routes.on(.delete, "users/factors/:id", .removeFactor) { request, context, application in
            guard let id = context.parameters.get("id").flatMap({ ObjectID($0) }) else {
                throw Failure.noSuchFactor
            }
            try await ownFactors.remove(id, of: request.userToken, in: application, logger: context.logger)
            return Response(status: .noContent, headers: [.cacheControl: "no-store"])
        }
    }
}

extension Response {
    /// Returns the response to a login that a second factor finished, with the values that are shown once.
    ///
    /// The added members have a hyphen, which no property name has, so members cannot collide.
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

extension Operation {
    fileprivate static let startSecondFactor = Operation(
        "startSecondFactor",
        under: "secondFactor",
        "Asks for one of the factors that a login was answered with, or begins a step-up of a session.",
        more: """
            With pending and factorId: of sms and email it sends the code, of a passkey it makes the options for the \
            browser. Of totp and recoveryCode nothing happens, and a client may leave the call out. Without pending, \
            with a session: a pending step-up and the user's factors.
            """,
        marks: .mayHaveSession,
        body: Content(.factorStart, isRequired: false),
        .success(
            "What the person needs to show the factor; or the pending step-up.",
            .either([.factorChallenge, .pendingStep])
        ),
        or: [.forbidden, .notFound]
    )

    fileprivate static let startPasskeyLogin = Operation(
        "startPasskeyLogin",
        under: "secondFactor",
        "Begins a login by a passkey, whoever's it is.",
        more: "Where the application has secondFactor.passkeys.login; factor_not_offered otherwise.",
        parameters: [.previousUserToken],
        .success("What the browser needs to have a passkey shown.", .passkeyLogin),
        or: [.badRequest, .forbidden]
    )

    fileprivate static let finishSecondFactor = Operation(
        "finishSecondFactor",
        under: "secondFactor",
        "Shows a factor: finishes the login, or the step-up of the session.",
        more: """
            The reply of a login is that of the login that was put off. Of a step-up it is empty. Five wrong answers \
            end what was begun.
            """,
        marks: .mayHaveSession,
        parameters: [.idempotencyKey],
        body: Content(.factorAnswer),
        .success(
            "The user, with the session, of a login; nothing of a step-up.",
            as: "FactorShown",
            headers: [.userCreated, .missingPermissions],
            .user
        ),
        or: [.forbidden, .conflict, .unprocessable, .timeout]
    )

    fileprivate static let finishPasskeyLogin = finishSecondFactor.again(
        "finishPasskeyLogin",
        "Logs in by a passkey.",
        more: "The same as users/secondFactor/finish, under the name that goes with users/passkey/start."
    )

    fileprivate static let listFactors = Operation(
        "listFactors",
        under: "secondFactor",
        "The second factors of the session's user, and the kinds that can be enrolled.",
        more: "Secrets are in none of it.",
        marks: .session,
        .success(
            "The factors, the oldest first.",
            .object(["factors": .array(of: .factor), "kinds": .array(of: .factorKind)])
        )
    )

    fileprivate static let beginFactor = Operation(
        "beginFactor",
        under: "secondFactor",
        "Begins to enrol a factor, or gives new recovery codes.",
        more: """
            With a session that has shown of late who its person is and, of who has one, a factor; or with the pending \
            sign-in of a login that waits for an enrolment. Nothing is kept before it is confirmed. Of recoveryCode, \
            with a session, it is done at once: the reply has the codes.
            """,
        marks: .mayHaveSession,
        body: Content(.factorWish),
        .success("What the person needs to show that the factor is theirs.", .begunFactor),
        or: [.forbidden, .conflict, .unprocessable]
    )

    fileprivate static let confirmFactor = Operation(
        "confirmFactor",
        under: "secondFactor",
        "Enrols a factor that its person shows to hold.",
        more: """
            With the session, or the pending sign-in, by which it was begun. Of a pending sign-in it is the end of the \
            login, and the reply is that of the login, with recovery-codes where they are new. The person is told by \
            mail.
            """,
        marks: .mayHaveSession,
        parameters: [Parameter("id", in: .path, .string, "What users/factors answered as id."), .idempotencyKey],
        body: Content(.factorConfirmation),
        .success(
            "The factor, with recoveryCodes where it is the first one; or the user, with the session.",
            .anyObject.open.described("A Factor; with pending a User.")
        ),
        or: [.forbidden, .notFound, .conflict, .unprocessable, .timeout]
    )

    fileprivate static let removeFactor = Operation(
        "removeFactor",
        under: "secondFactor",
        "Removes a factor of the session's user.",
        more: """
            Needs what enrolling one does. With the last one go the recovery codes; the last one of a user whom the \
            application requires one of stays: last_factor. No device is trusted any more. The person is told by mail.
            """,
        marks: .session,
        parameters: [Parameter("id", in: .path, .string, "As the list names it.")],
        .success("It is no factor any more.", status: 204),
        or: [.notFound, .conflict]
    )
}
