import Domain
import Encodings
import Factors
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The routes of second factors (docs/protocols/firebase.md §7).
struct MultiFactorRoutes {
    let tokens: IDTokens
    let secondFactor: SecondFactor
    let ownFactors: OwnFactors

    func mount(on paths: Firebase.Paths) {
        paths.on(.startSecondFactor) { request, context, application in
            let fields = try await CallFields.read(request, limits: .pendingLogin)
            let factor = try Self.factor(fields)
            _ = try await secondFactor.start(
                try Self.pending(fields),
                factor: factor,
                by: context.apiKey?.label,
                from: context.source,
                in: application.loaded
            )
            // The next call names the factor by this text alone.
            return .google(["phoneResponseInfo": .object(["sessionInfo": .string(factor.description)])])
        }
        paths.on(.finishSecondFactor) { request, context, application in
            try await finish(try await .read(request, limits: .pendingLogin), context, application)
        }
        paths.on(.startEnrolment) { request, context, application in
            try await enrol(try await .read(request), context, application)
        }
        paths.on(.finishEnrolment) { request, context, application in
            try await confirm(try await .read(request), context, application)
        }
        paths.on(.withdrawFactor) { request, context, application in
            let fields = try await CallFields.read(request)
            let session = try await tokens.session(of: fields, in: application)
            do throws(Failure) {
                try await ownFactors.remove(
                    try Self.factor(fields),
                    of: session,
                    in: application.loaded,
                    logger: context.logger
                )
            } catch {
                throw error.named("MFA_ENROLLMENT_NOT_FOUND", for: .notFound)
            }
            return try await reply(session, application)
        }
    }

    // MARK: Login

    private func finish(
        _ fields: CallFields,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        let verification = try Self.verification(fields)
        let factor = try verification.isPhone ? verification.id : Self.factor(fields).description
        let outcome: FactorOutcome
        do throws(Failure) {
            outcome = try await secondFactor.finish(
                FactorAnswer(
                    pending: try Self.pending(fields),
                    factor: ObjectID(factor),
                    response: .code(verification.code),
                    trustsDevice: false,
                    idempotencyKey: nil,
                    keyLabel: context.apiKey?.label,
                    source: context.source
                ),
                session: nil,
                in: application.loaded,
                logger: context.logger
            )
        } catch {
            throw error.named("MFA_ENROLLMENT_NOT_FOUND", for: .notFound)
        }
        guard case .signedIn(let finished) = outcome else {
            throw .google("INVALID_MFA_PENDING_CREDENTIAL", "This is no pending login.")
        }
        return try await reply(finished.signedIn.token.key, application)
    }

    private static func pending(_ fields: CallFields) throws(Failure) -> String {
        guard let pending = try fields.filled("mfaPendingCredential") else {
            throw .google("MISSING_MFA_PENDING_CREDENTIAL", "Send mfaPendingCredential.")
        }
        return pending
    }

    private static func factor(_ fields: CallFields) throws(Failure) -> ObjectID {
        guard let text = try fields.filled("mfaEnrollmentId") else {
            throw .google("MISSING_MFA_ENROLLMENT_ID", "Send mfaEnrollmentId.")
        }
        guard let id = ObjectID(text) else { throw .google("MFA_ENROLLMENT_NOT_FOUND", "There is no such factor.") }
        return id
    }

    /// Returns the code of a call, and the text that names a factor or an enrolment.
    private static func verification(
        _ fields: CallFields
    ) throws(Failure) -> (id: String, code: String, isPhone: Bool) {
        let totp = fields.value("totpVerificationInfo")?.object
        let phone = fields.value("phoneVerificationInfo")?.object
        guard let info = (totp ?? phone).map(CallFields.init) else {
            throw .google("MISSING_CODE", "Send totpVerificationInfo or phoneVerificationInfo.")
        }
        let code = try totp == nil ? info.filled("code") : info.filled("verificationCode")
        guard let code else { throw .google("MISSING_CODE", "Send the code.") }
        return (try info.text("sessionInfo") ?? "", code, totp == nil)
    }

    // MARK: Enrolment

    private func enrol(
        _ fields: CallFields,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        let session = try await tokens.session(of: fields, in: application)
        let phone = fields.value("phoneEnrollmentInfo")?.object.map(CallFields.init)
        let begun: PendingEnrolment
        do throws(Failure) {
            begun = try await ownFactors.begin(
                EnrolmentRequest(
                    kind: phone == nil ? .totp : .sms,
                    label: nil,
                    target: try phone.flatMap { (phone) throws(Failure) in try phone.text("phoneNumber") }
                ),
                by: .session(session),
                keyLabel: context.apiKey?.label,
                from: context.source,
                in: application.loaded
            )
        } catch {
            throw error.named("OPERATION_NOT_ALLOWED", for: .factorNotOffered)
                .named("SECOND_FACTOR_LIMIT_EXCEEDED", for: .tooManyFactors)
        }
        let id = JSONValue.string(begun.id.reveal())
        guard phone == nil else { return .google(["phoneSessionInfo": .object(["sessionInfo": id])]) }
        return .google([
            "totpSessionInfo": .object([
                "sharedSecretKey": .string(begun.address.flatMap(Self.key) ?? ""),
                "verificationCodeLength": .integer(6), "hashingAlgorithm": .string("SHA1"), "periodSec": .integer(30),
                "sessionInfo": id, "finalizeEnrollmentTime": .time(begun.expires / 1000),
            ])
        ])
    }

    /// Returns the secret of an `otpauth` URL, in base32.
    private static func key(of address: Secret) -> String? {
        let query = address.reveal().split(separator: "?").last ?? ""
        return query.split(separator: "&").first { $0.hasPrefix("secret=") }.map { String($0.dropFirst(7)) }
    }

    private func confirm(
        _ fields: CallFields,
        _ context: APIContext,
        _ application: ServedApplication
    ) async throws(Failure) -> Response {
        let session = try await tokens.session(of: fields, in: application)
        let verification = try Self.verification(fields)
        _ = try await ownFactors.confirm(
            verification.id,
            by: .code(verification.code),
            label: try fields.filled("displayName"),
            claim: .session(session),
            idempotencyKey: nil,
            keyLabel: context.apiKey?.label,
            from: context.source,
            in: application.loaded,
            logger: context.logger
        )
        return try await reply(session, application) { json in
            json.append(verification.isPhone ? "phoneAuthInfo" : "totpAuthInfo", .object([:]))
        }
    }

    private func reply(
        _ session: SessionKey,
        _ application: ServedApplication,
        _ add: (inout JSONObject) -> Void = { _ in }
    ) async throws(Failure) -> Response {
        let pair = try await tokens.open(session, in: application)
        var json: JSONObject = [
            "idToken": .string(pair.idToken.reveal()), "refreshToken": .string(pair.refreshToken.reveal()),
        ]
        add(&json)
        return .google(json)
    }
}

extension Failure {
    /// Returns the members with which a client continues a login that needs a second factor; nil for another failure.
    ///
    /// This protocol has only codes of an app and of text messages. A user without such a factor gets the failure.
    var pendingMembers: JSONObject? {
        guard reason == .secondFactorRequired, let pending = details["pending"] else { return nil }
        let factors = (details["factors"]?.array ?? []).compactMap { factor -> JSONValue? in
            guard let factor = factor.object, let id = factor["id"]?.string, let created = factor["created"]?.integer,
                let kind = factor["kind"]?.string.flatMap(FactorKind.init), [.totp, .sms].contains(kind)
            else { return nil }
            return Account.enrolment(
                CodeFactor(id: id, kind: kind, created: created / 1000, label: nil),
                maskedNumber: factor["hint"]?.string
            )
        }
        return factors.isEmpty ? nil : ["mfaPendingCredential": pending, "mfaInfo": .array(factors)]
    }
}
