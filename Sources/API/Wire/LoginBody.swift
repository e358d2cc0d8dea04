import Federation
import Identity

/// The body of a login, in every spelling that client SDKs use (backendless.md §2.1).
enum LoginBody {
    /// Reads a body.
    ///
    /// Unknown members are ignored, `null` is absence.
    ///
    /// - Throws: `malformed_request` or `payload_too_large`.
    static func parse(
        _ bytes: [UInt8],
        previousToken: SessionToken?,
        idempotencyKey: String?
    ) throws(Failure) -> LoginRequest {
        let body = try object(in: bytes)
        return LoginRequest(
            credential: CredentialFields(
                accessToken: try text("accessToken", in: body),
                idToken: try text("idToken", in: body),
                nonce: try text("nonce", in: body),
                code: try text("code", in: body),
                redirectURI: try text("redirectUri", in: body),
                codeVerifier: try text("codeVerifier", in: body),
                loginCode: try text("loginCode", in: body)
            ),
            mapping: try mapping(in: body),
            appID: try text("appId", in: body),
            previousToken: previousToken,
            idempotencyKey: idempotencyKey
        )
    }

    /// The object that the body is.
    static func object(in bytes: [UInt8]) throws(Failure) -> JSONObject {
        let value = try JSONParser.parse(body: bytes, limits: .request)
        guard let object = value.object else {
            throw Failure(.malformedRequest, "The body must be a JSON object, it is \(value.kind).")
        }
        return object
    }

    /// A member that is a text; nil when it is absent.
    static func text(_ key: String, in body: JSONObject) throws(Failure) -> String? {
        guard let value = body.present(key) else { return nil }
        guard let text = value.string else {
            throw Failure(.malformedRequest, "\(key) must be a text, it is \(value.kind).")
        }
        return text
    }

    /// The client's mapping: under either key, as an object or as a text that holds one.
    static func mapping(in body: JSONObject) throws(Failure) -> JSONValue? {
        let first = try mapping("fieldsMapping", in: body)
        let second = try mapping("fieldsMappings", in: body)
        if let first, let second, first != second {
            throw Failure(.malformedRequest, "fieldsMapping and fieldsMappings say different things. Send one of them.")
        }
        return first ?? second
    }

    private static func mapping(_ key: String, in body: JSONObject) throws(Failure) -> JSONValue? {
        guard let value = body.present(key) else { return nil }
        guard let text = value.string else { return value }
        do {
            return try JSONParser.parse(text, limits: .request)
        } catch {
            throw Failure(.malformedRequest, "\(key) is a text that should hold a JSON object: \(error).")
        }
    }
}
