import Factors
import HTTP
import Hummingbird
import Vocabulary

/// The bodies of requests and replies about second factors.
enum FactorBody {
    /// A pending sign-in holds what the provider has said of a person, sealed.
    private static let limits = {
        var limits = JSONLimits.request
        limits.bytes = 524_288
        return limits
    }()

    /// Reads a body; nothing will do where a session says all.
    static func read(_ request: Request, mayBeEmpty: Bool = false) async throws(Failure) -> JSONObject {
        guard mayBeEmpty else {
            return try JSONObject(body: try await request.jsonBody(upTo: limits.bytes), limits: limits)
        }
        guard let bytes = try await request.jsonBodyIfAny(upTo: limits.bytes) else { return JSONObject() }
        return try JSONObject(body: bytes, limits: limits)
    }

    /// A factor that is there.
    ///
    /// - Throws: `malformed_request` without its id.
    static func factor(in body: JSONObject) throws(Failure) -> ObjectID {
        guard let id = try body.text("factorId").flatMap({ ObjectID($0) }) else {
            throw Failure.noFactorNamed
        }
        return id
    }

    /// What somebody shows: a code, or what an authenticator gave.
    ///
    /// - Throws: `malformed_request` for neither and for both.
    static func response(in body: JSONObject) throws(Failure) -> FactorResponse {
        switch (try body.code, body.present("credential")) {
        case (let code?, nil): return .code(code)
        case (nil, let credential?): return .credential(credential)
        case (_, _):
            throw Failure(.malformedRequest, "Send code, or credential as the browser gave it: one of the two.")
        }
    }

    /// What somebody wants to enrol.
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
    /// A code as a text, or as a number, which some clients make of it: one that begins with zeros has lost them.
    var code: String? {
        get throws(Failure) {
            guard let number = present("code")?.integer, number >= 0 else { return try text("code") }
            let digits = String(number)
            return String(repeating: "0", count: max(0, 6 - digits.utf8.count)) + digits
        }
    }
}
