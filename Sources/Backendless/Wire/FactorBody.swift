import Description
import Domain
import Encodings
import Factors
import HTTP
import Hummingbird
import PublicAPI

/// Parses and writes the bodies of requests and responses about second factors.
enum FactorBody {
    /// The limits of a request's JSON body.
    ///
    /// The body may contain a pending login, which contains the user's encrypted profile from the provider.
    private static let limits = {
        var limits = JSONLimits.request
        limits.bytes = 524_288
        return limits
    }()

    /// Parses the JSON body of a request.
    ///
    /// With `mayBeEmpty`, the body may be absent, since some requests need nothing but the session.
    static func read(_ request: Request, mayBeEmpty: Bool = false) async throws(Failure) -> JSONObject {
        guard mayBeEmpty else {
            return try JSONObject(body: try await request.jsonBody(upTo: limits.bytes), limits: limits)
        }
        guard let bytes = try await request.jsonBodyIfAny(upTo: limits.bytes) else { return JSONObject() }
        return try JSONObject(body: bytes, limits: limits)
    }

    /// Returns the id of the enrolled second factor that the body of a request names.
    ///
    /// - Throws: `malformed_request` if the body has no valid id.
    static func factor(in body: JSONObject) throws(Failure) -> ObjectID {
        guard let id = try body.text("factorId").flatMap({ ObjectID($0) }) else {
            throw Failure.noFactorNamed
        }
        return id
    }

    /// Returns the second factor that the user sent: a code, or an authenticator's credential.
    ///
    /// - Throws: `malformed_request` if the body has neither or both.
    static func response(in body: JSONObject) throws(Failure) -> FactorResponse {
        switch (try body.code, body.present("credential")) {
        case (let code?, nil): return .code(code)
        case (nil, let credential?): return .credential(credential)
        case (_, _):
            throw Failure(.malformedRequest, "Send either code, or credential as the browser returned it.")
        }
    }

    /// Returns which second factor a user wants to enrol.
    ///
    /// - Throws: `malformed_request`.
    static func wish(in body: JSONObject) throws(Failure) -> EnrolmentRequest {
        guard let kind = try body.text("kind").flatMap({ FactorKind(rawValue: $0) }) else {
            let known = FactorKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Failure(.malformedRequest, "kind must be one of \(known).")
        }
        let target = kind == .sms ? try body.text("phone") : try body.text("email")
        return EnrolmentRequest(kind: kind, label: try body.text("label"), target: target)
    }

    static func write(_ begun: PendingEnrolment) -> JSONWriter {
        var writer = JSONWriter(capacity: 4096)
        writer.object { writer in
            writer.member("id", begun.id.reveal())
            writer.member("kind", begun.kind.rawValue)
            if let address = begun.address { writer.member("otpauth", address.reveal()) }
            if let picture = begun.picture { writer.member("qr", picture.reveal()) }
            if let options = begun.publicKey { writer.member("publicKey", .object(options)) }
            if let sentTo = begun.sentTo { writer.member("sentTo", sentTo) }
            writer.member("expires", begun.expires)
        }
        return writer
    }

    static func write(_ factor: Factor, recoveryCodes: [Secret] = [], into writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", factor.id.description)
            writer.member("kind", factor.kind.rawValue)
            writer.member("label", factor.label.map(JSONValue.string) ?? .null)
            if let hint = factor.hint { writer.member("hint", hint) }
            if let left = factor.codesLeft { writer.member("codesLeft", .integer(Int64(left))) }
            writer.member("created", factor.created)
            writer.member("lastUsed", factor.lastUsed.map(JSONValue.integer) ?? .null)
            if !recoveryCodes.isEmpty {
                writer.member("recoveryCodes", .array(recoveryCodes.map { .string($0.reveal()) }))
            }
        }
    }
}

extension JSONObject {
    /// The code of a second factor in the body, as a text.
    ///
    /// Some clients send the code as a number, without its leading zeros. The zeros are restored, up to six digits.
    var code: String? {
        get throws(Failure) {
            guard let number = present("code")?.integer, number >= 0 else { return try text("code") }
            let digits = String(number)
            return String(repeating: "0", count: max(0, 6 - digits.utf8.count)) + digits
        }
    }
}

extension Schema {
    static let factorStart = anyObject.adding(optional: [
        "pending": .string.nullable.described("Of a login or a step-up. Absent to start a step-up of the session."),
        "factorId": .uuid.nullable.described("One of the offered factors. Required with pending."),
    ]).named("FactorStart")

    static let factorChallenge = object(
        ["expires": .moment],
        optional: [
            "sentTo": .string.described("The masked address or number to which the code was sent."),
            "publicKey": .anyObject.described(
                "PublicKeyCredentialRequestOptionsJSON (WebAuthn level 3 §5.1.9), for a passkey."
            ),
        ]
    ).named("FactorChallenge")

    static let pendingStep = object([
        "pending": .string.pattern("^[A-Za-z0-9_-]+$"),
        "factors": .array(of: .offeredFactor),
        "expires": .moment,
    ]).named("PendingStep")

    static let passkeyLogin = object([
        "pending": .string.pattern("^[A-Za-z0-9_-]+$"),
        "publicKey": .anyObject.described("PublicKeyCredentialRequestOptionsJSON (WebAuthn level 3 §5.1.9)."),
        "expires": .moment,
    ]).named("PasskeyLogin")

    static let factorAnswer = anyObject.adding(
        ["pending": .string],
        optional: [
            "factorId": .uuid.nullable,
            "code": .string.described(
                """
                Six digits, or a recovery code in upper or lower case, with or without hyphens. A number is also \
                accepted.
                """
            ),
            "credential": .anyObject.described("AuthenticationResponseJSON (WebAuthn level 3 §5.1)."),
            "trustDevice": .boolean.nullable.described(
                "Whether to trust the device, for the days that the application allows."
            ),
        ]
    ).described(
        "A code with its factor, or the credential of a passkey."
    ).named("FactorAnswer")

    static let factorWish = anyObject.adding(
        ["kind": .factorKind],
        optional: [
            "label": .string.nullable.length(1...200).described("The user's name for it."),
            "phone": .string.nullable.examples("+41791234567").described(
                "Of sms: the number, with + and the country code."
            ),
            "email": .string.nullable.described("Of email: the address. The default is the user's own."),
            "pending": .string.nullable.described(
                "Of a login that requires an enrolment. Without it, the session is used."
            ),
        ]
    ).named("EnrolmentRequest")

    static let pendingEnrolment = object(
        [
            "id": .string.pattern("^[A-Za-z0-9_-]+$").described(
                """
                The id for the confirmation, which differs from the later id. Of recoveryCode, which needs no \
                confirmation, its id.
                """
            ),
            "kind": .factorKind,
        ],
        optional: [
            "otpauth": .string.described("Of totp: the URL for authenticator apps, with the secret."),
            "qr": .string.rule("contentMediaType", .string("image/svg+xml")).described(
                "Of totp: the same as a picture."
            ),
            "publicKey": .anyObject.described(
                "Of passkey: PublicKeyCredentialCreationOptionsJSON (WebAuthn level 3 §5.1.8)."
            ),
            "sentTo": .string.described("Of sms and email: the masked number or address to which the code was sent."),
            "recoveryCodes": .strings.rule("minItems", .integer(10)).count(upTo: 10).described(
                "Of recoveryCode: shown only once."
            ),
            "expires": .moment.described(
                "The expiry of the confirmation, in milliseconds since 1970 UTC. Absent for recoveryCode."
            ),
        ]
    ).named("PendingEnrolment")

    static let factorConfirmation = anyObject.adding(optional: [
        "code": .string.described("The code from the app or the message. A number is also accepted."),
        "credential": .anyObject.described("RegistrationResponseJSON (WebAuthn level 3 §5.1)."),
        "pending": .string.nullable.described(
            "Of a login that requires an enrolment. Without it, the session is used."
        ),
    ]).described("A code, or the credential of a passkey.").named("FactorConfirmation")

    static let factor = object(
        [
            "id": .uuid,
            "kind": .factorKind,
            "label": .string.nullable.described("The user's name for it."),
            "created": .moment,
            "lastUsed": .moment.nullable,
        ],
        optional: [
            "hint": .string.described("The masked address or number that gets codes."),
            "codesLeft": .integer.described("Of recoveryCode: the number of unused codes."),
            "recoveryCodes": .strings.rule("minItems", .integer(10)).count(upTo: 10).described(
                "Of the first factor, when it is confirmed. Shown only once."
            ),
        ]
    ).named("Factor")
}
