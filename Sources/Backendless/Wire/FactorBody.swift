import Description
import Domain
import Encodings
import Factors
import HTTP
import Hummingbird
import PublicAPI

/// The bodies of requests and responses about second factors.
enum FactorBody {
    /// The limits of a body, which may hold a pending login with the provider's data about the user, encrypted.
    private static let limits = {
        var limits = JSONLimits.request
        limits.bytes = 524_288
        return limits
    }()

    /// Reads a body, which may be absent where the session alone suffices.
    static func read(_ request: Request, mayBeEmpty: Bool = false) async throws(Failure) -> JSONObject {
        guard mayBeEmpty else {
            return try JSONObject(body: try await request.jsonBody(upTo: limits.bytes), limits: limits)
        }
        guard let bytes = try await request.jsonBodyIfAny(upTo: limits.bytes) else { return JSONObject() }
        return try JSONObject(body: bytes, limits: limits)
    }

    /// Returns the id of an enrolled factor.
    ///
    /// - Throws: `malformed_request` without a valid id.
    static func factor(in body: JSONObject) throws(Failure) -> ObjectID {
        guard let id = try body.text("factorId").flatMap({ ObjectID($0) }) else {
            throw Failure.noFactorNamed
        }
        return id
    }

    /// Returns the user's response to a factor: a code, or an authenticator's credential.
    ///
    /// - Throws: `malformed_request` when the body has neither or both.
    static func response(in body: JSONObject) throws(Failure) -> FactorResponse {
        switch (try body.code, body.present("credential")) {
        case (let code?, nil): return .code(code)
        case (nil, let credential?): return .credential(credential)
        case (_, _):
            throw Failure(.malformedRequest, "Send code, or credential as the browser gave it: one of the two.")
        }
    }

    /// Returns the factor that a user wants to enrol.
    ///
    /// - Throws: `malformed_request`.
    static func wish(in body: JSONObject) throws(Failure) -> FactorWish {
        guard let kind = try body.text("kind").flatMap({ FactorKind(rawValue: $0) }) else {
            let known = FactorKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Failure(.malformedRequest, "kind must be one of \(known).")
        }
        let target = kind == .sms ? try body.text("phone") : try body.text("email")
        return FactorWish(kind: kind, label: try body.text("label"), target: target)
    }

    static func write(_ begun: BegunFactor) -> JSONWriter {
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
    /// The code, as a text.
    ///
    /// Some clients send a number, which has lost the leading zeros of its code; the six digits are restored.
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
        "pending": .string.nullable.described("Of a login or a step-up; absent to begin a step-up of the session."),
        "factorId": .uuid.nullable.described("One of the factors that were offered; must be there with pending."),
    ]).named("FactorStart")

    static let factorChallenge = object(
        ["expires": .moment],
        optional: [
            "sentTo": .string.described("Where a code was sent, masked."),
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
                Six digits, or a recovery code in any case, with or without its hyphens. A number counts like its \
                text.
                """
            ),
            "credential": .anyObject.described("AuthenticationResponseJSON (WebAuthn level 3 §5.1)."),
            "trustDevice": .boolean.nullable.described(
                "Whether the device is not to be asked again, for the days that the application says."
            ),
        ]
    ).described(
        "A code with the factor that it is of, or the credential of a passkey, which says itself which one it is."
    ).named("FactorAnswer")

    static let factorWish = anyObject.adding(
        ["kind": .factorKind],
        optional: [
            "label": .string.nullable.length(1...200).described("What the person calls it."),
            "phone": .string.nullable.examples("+41791234567").described(
                "Of sms: the number, with + and the country's digits."
            ),
            "email": .string.nullable.described("Of email: the address; the user's own where it is absent."),
            "pending": .string.nullable.described(
                "Of a login that waits for an enrolment; without it the session counts."
            ),
        ]
    ).named("FactorWish")

    static let begunFactor = object(
        [
            "id": .string.pattern("^[A-Za-z0-9_-]+$").described(
                """
                What it is confirmed by: not the id that it will have. Of recoveryCode, which needs no confirmation, \
                its id.
                """
            ),
            "kind": .factorKind,
        ],
        optional: [
            "otpauth": .string.described("Of totp: the address that authenticator apps take, with the secret."),
            "qr": .string.rule("contentMediaType", .string("image/svg+xml")).described(
                "Of totp: the same as a picture."
            ),
            "publicKey": .anyObject.described(
                "Of passkey: PublicKeyCredentialCreationOptionsJSON (WebAuthn level 3 §5.1.8)."
            ),
            "sentTo": .string.described("Of sms and email: where the code was sent, masked."),
            "recoveryCodes": .strings.rule("minItems", .integer(10)).count(upTo: 10).described(
                "Of recoveryCode: shown this once."
            ),
            "expires": .moment.described(
                "Until when it can be confirmed, in milliseconds since 1970 UTC; not of recoveryCode."
            ),
        ]
    ).named("BegunFactor")

    static let factorConfirmation = anyObject.adding(optional: [
        "code": .string.described("What the app shows, or what was sent. A number counts like its text."),
        "credential": .anyObject.described("RegistrationResponseJSON (WebAuthn level 3 §5.1)."),
        "pending": .string.nullable.described("Of a login that waits for an enrolment; without it the session counts."),
    ]).described("A code, or the credential of a passkey.").named("FactorConfirmation")

    static let factor = object(
        [
            "id": .uuid,
            "kind": .factorKind,
            "label": .string.nullable.described("What the person calls it."),
            "created": .moment,
            "lastUsed": .moment.nullable,
        ],
        optional: [
            "hint": .string.described("Where codes are sent, masked."),
            "codesLeft": .integer.described("Of recoveryCode: how many have not been used."),
            "recoveryCodes": .strings.rule("minItems", .integer(10)).count(upTo: 10).described(
                "Of the first factor, when it is confirmed: shown this once."
            ),
        ]
    ).named("Factor")
}
