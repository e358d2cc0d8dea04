import Applications
import HTTP
import Hummingbird
import Logins
import Vocabulary

/// The body of a login, in every spelling that client SDKs use (docs/protocols/backendless.md §2.1).
enum LoginBody {
    /// Reads a body.
    ///
    /// - Throws: `malformed_request`, `payload_too_large` and `unsupported_media_type`.
    static func read(_ request: Request) async throws(Failure) -> JSONObject {
        try JSONObject(
            body: try await request.jsonBody(upTo: Request.bodyLimit),
            limits: .request(withRecord: "guestUser")
        )
    }

    /// What a body says.
    ///
    /// Unknown members are ignored, `null` is absence.
    ///
    /// - Throws: `malformed_request`.
    static func parse(
        _ body: JSONObject,
        provider: ProviderName,
        previousToken: SessionToken?,
        keyLabel: String?,
        idempotencyKey: IdempotencyKey?
    ) throws(Failure) -> LoginRequest {
        LoginRequest(
            provider: provider,
            credential: CredentialFields(
                accessToken: try accessToken(in: body),
                accessTokenSecret: try body.text("accessTokenSecret"),
                idToken: try body.text("idToken"),
                nonce: try body.text("nonce"),
                code: try body.text("code"),
                redirectURI: try body.text("redirectUri"),
                codeVerifier: try body.text("codeVerifier"),
                loginCode: try body.text("loginCode")
            ),
            mapping: try mapping(in: body),
            appID: try body.text("appId"),
            previousToken: previousToken,
            client: LoginClient(
                keyLabel: keyLabel,
                trustedDevice: try body.text("trustedDevice").map(Secret.init)
            ),
            idempotencyKey: idempotencyKey,
            guest: try guest(in: body, previousToken: previousToken),
            invitation: try body.text("invitation").map { InvitationToken($0) }
        )
    }

    /// The guest who is to become the user: the user object of the guest as the client received it, or a text that
    /// holds it.
    ///
    /// A client that does not keep the token in the object sends it in the header.
    private static func guest(in body: JSONObject, previousToken: SessionToken?) throws(Failure) -> GuestClaim? {
        guard let value = try value("guestUser", in: body, limits: .record) else { return nil }
        guard let object = value.object, let id = object["objectId"]?.string.flatMap({ ObjectID($0) }) else {
            throw Failure(.malformedRequest, "guestUser must be the user object of a guest, with its objectId.")
        }
        let own = object["user-token"]?.string.flatMap { SessionToken(received: $0) }
        guard let token = own ?? previousToken else {
            throw Failure(
                .guestInvalid,
                "guestUser needs the guest's user-token, in the object or as a header: it shows whose guest this is."
            )
        }
        return GuestClaim(id: id, token: token)
    }

    /// The access token, also where Facebook's own SDK for browsers puts it, whose answer JS SDK 3 sends as it is.
    private static func accessToken(in body: JSONObject) throws(Failure) -> String? {
        let answer = body.present("authResponse")?.object
        let inner = try answer.flatMap { (answer) throws(Failure) in try answer.text("accessToken") }
        let outer = try body.text("accessToken")
        if let outer, let inner, !outer.hasSameBytes(as: inner) {
            throw Failure(
                .credentialAmbiguous,
                "accessToken and authResponse.accessToken are different. Send one of them."
            )
        }
        return outer ?? inner
    }

    /// The client's mapping: under either key, as an object or as a text that holds one.
    static func mapping(in body: JSONObject) throws(Failure) -> JSONValue? {
        let first = try value("fieldsMapping", in: body)
        let second = try value("fieldsMappings", in: body)
        if let first, let second, first != second {
            throw Failure(.malformedRequest, "fieldsMapping and fieldsMappings say different things. Send one of them.")
        }
        return first ?? second
    }

    /// A member that client SDKs send as it is, or as a text that holds it in JSON.
    private static func value(
        _ key: String,
        in body: JSONObject,
        limits: JSONLimits = .request
    ) throws(Failure) -> JSONValue? {
        guard let value = body.present(key) else { return nil }
        guard let text = value.string else { return value }
        do {
            let value = try JSONParser.parse(text, limits: limits)
            return value.isNull ? nil : value
        } catch {
            throw Failure(.malformedRequest, "\(key) is a text that should hold a JSON object: \(error).")
        }
    }
}
