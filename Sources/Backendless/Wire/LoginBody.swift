import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins

/// Parses the body of a login, in every spelling that client SDKs use (docs/protocols/backendless.md §2.1).
enum LoginBody {
    /// Parses the JSON body of a login request.
    ///
    /// - Throws: `malformed_request`, `payload_too_large` and `unsupported_media_type`.
    static func read(_ request: Request) async throws(Failure) -> JSONObject {
        try JSONObject(
            body: try await request.jsonBody(upTo: Request.bodyLimit),
            limits: .request(withRecord: "guestUser")
        )
    }

    /// Returns the login that the body of a request asks for.
    ///
    /// Unknown members are ignored. A member that is `null` counts as absent.
    ///
    /// - Throws: `malformed_request`.
    static func parse(
        _ body: JSONObject,
        provider: ProviderName,
        previousSession: SessionKey?,
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
            previousSession: previousSession,
            client: LoginClient(
                keyLabel: keyLabel,
                trustedDevice: try body.text("trustedDevice").map(Secret.init)
            ),
            idempotencyKey: idempotencyKey,
            guest: try guest(in: body, previousSession: previousSession),
            invitation: try body.text("invitation").map { InvitationToken($0) }
        )
    }

    /// Returns the guest whose account this login adds an identity to; nil if the body names no guest.
    ///
    /// The body contains the guest's user object as the client received it, or a text that contains this object. The
    /// guest's session token is in the object, or else in a header of the request.
    private static func guest(in body: JSONObject, previousSession: SessionKey?) throws(Failure) -> GuestClaim? {
        guard let value = try value("guestUser", in: body, limits: .record) else { return nil }
        guard let object = value.object, let id = object["objectId"]?.string.flatMap({ ObjectID($0) }) else {
            throw Failure(.malformedRequest, "guestUser must be the user object of a guest, with its objectId.")
        }
        let own = object["user-token"]?.string.flatMap { SessionToken(received: $0)?.key }
        guard let token = own ?? previousSession else {
            throw Failure(
                .guestInvalid,
                "guestUser needs the guest's user-token, in the object or as a header."
            )
        }
        return GuestClaim(id: id, session: token)
    }

    /// Returns the access token, from the body or from its member `authResponse`.
    ///
    /// `authResponse` is what Facebook's SDK for browsers returns. Backendless' JavaScript SDK 3 sends it unchanged.
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

    /// Returns the mapping that the client sends with the login; nil if there is none.
    ///
    /// The mapping may have either of two names in the body. It may be an object, or a text that contains one.
    static func mapping(in body: JSONObject) throws(Failure) -> JSONValue? {
        let first = try value("fieldsMapping", in: body)
        let second = try value("fieldsMappings", in: body)
        if let first, let second, first != second {
            throw Failure(.malformedRequest, "fieldsMapping and fieldsMappings are different. Send one of them.")
        }
        return first ?? second
    }

    /// Returns the value of a member that is either a JSON value or a text that contains one, since client SDKs differ.
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

extension Schema {
    static let login = anyObject.adding(optional: [
        "accessToken": .string.nullable.length(1...8192).described(
            """
            The access token from the provider's SDK. With Facebook also an ID token, which is recognized; with \
            Twitter also token and secret, separated by a colon.
            """
        ),
        "accessTokenSecret": .string.nullable.length(upTo: 8192).described("The secret of Twitter's access token."),
        "authResponse": .anyObject.adding(optional: ["accessToken": .string.nullable]).nullable.described(
            "The response of Facebook's SDK for browsers. Its accessToken is used like the one above."
        ),
        "trustedDevice": .trustedDevice,
        "guestUser": .object(["objectId": .uuid], optional: ["user-token": .string]).open.nullable.described(
            """
            The guest who becomes the user: the user object as the client received it, with its user-token, or with \
            that of the header. The object as a text is also accepted.
            """
        ),
        "idToken": .string.nullable.length(1...8192).described(
            "The ID token of Limited Login (AuthenticationToken of the SDKs). It is single-use."
        ),
        "nonce": .string.nullable.described(
            "The nonce of the ID token, as the app created it or as users/nonce returned it."
        ),
        "code": .string.length(1...4096).described(
            "The authorization code of a dialog that the client has opened."
        ),
        "redirectUri": .string.notEmpty.described(
            "The redirect URI of that dialog, byte for byte. One of the application's redirectUris."
        ),
        "loginCode": .string.notEmpty.described(
            "The code from a login through the server. Single-use, valid for a minute."
        ),
        "codeVerifier": .string.nullable.described("The PKCE verifier of the code or the loginCode."),
        "fieldsMapping": .fieldsMapping,
        "fieldsMappings": .fieldsMapping,
        "appId": .string.nullable.described("The app of the credential at the provider, one of the application's."),
        "invitation": .invitation,
    ]).described(
        """
        One credential: accessToken, idToken, code with redirectUri, loginCode, or authResponse. Other members are \
        ignored. `null` counts as absent.
        """
    ).named("Login")

    static let fieldsMapping = dictionary(of: .string).nullable.rule("maxProperties", .integer(64)).described(
        """
        The provider's field → property. The object as a text is also accepted. If both names are sent, they must be \
        equal.
        """
    ).named("FieldsMapping")

    static let trustedDevice = string.nullable.described(
        "The value of trusted-device from an earlier login on this device. Any other text is ignored."
    ).named("TrustedDevice")

    static let invitation = string.nullable.described(
        "For a new user: the token of the invitation's link. Ignored for an existing user."
    ).named("Invitation")
}

extension Content {
    static let login = Content(
        .login,
        examples: [
            "plain": #"{"accessToken": "EAAB0token"}"#,
            "twitter": #"{"accessToken": "2244994945-token", "accessTokenSecret": "token-secret"}"#,
            "limited": #"{"idToken": "eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "nonce": "a-random-text"}"#,
            "mapped": """
            {
              "accessToken": "EAAB0token",
              "fieldsMapping": {"email": "email", "first_name": "givenName", "picture.data.url": "avatar"}
            }
            """,
        ],
        named: "Login"
    )
}
