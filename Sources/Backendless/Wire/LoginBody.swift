import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins

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

    /// Returns the login that a body asks for.
    ///
    /// Unknown members are ignored; `null` counts as absent.
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

    /// Returns the guest who is to become the user.
    ///
    /// The member is the guest's user object as the client received it, or a text that holds the object. A client that
    /// does not keep the token in the object sends the token in the header.
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

    /// Returns the access token, from the body or from `authResponse`.
    ///
    /// `authResponse` is the response of Facebook's own SDK for browsers, which JS SDK 3 sends unchanged.
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

    /// Returns the client's mapping: under either key, as an object or as a text that holds one.
    static func mapping(in body: JSONObject) throws(Failure) -> JSONValue? {
        let first = try value("fieldsMapping", in: body)
        let second = try value("fieldsMappings", in: body)
        if let first, let second, first != second {
            throw Failure(.malformedRequest, "fieldsMapping and fieldsMappings say different things. Send one of them.")
        }
        return first ?? second
    }

    /// Returns a member that client SDKs send as a JSON value, or as a text that holds the JSON value.
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
            The access token that the provider's SDK gave after the login. With Facebook also an ID token, which is \
            taken for what it is; with Twitter also token and secret with a colon between them.
            """
        ),
        "accessTokenSecret": .string.nullable.length(upTo: 8192).described("The secret of Twitter's access token."),
        "authResponse": .anyObject.adding(optional: ["accessToken": .string.nullable]).nullable.described(
            "What Facebook's SDK for browsers answers; its accessToken counts like the one above."
        ),
        "trustedDevice": .trustedDevice,
        "guestUser": .object(["objectId": .uuid], optional: ["user-token": .string]).open.nullable.described(
            """
            The guest who becomes the user: the user object as the client received it, with its user-token, or with \
            that of the header. A text that holds the object counts like the object.
            """
        ),
        "idToken": .string.nullable.length(1...8192).described(
            "The ID token of Limited Login (AuthenticationToken of the SDKs). It counts once."
        ),
        "nonce": .string.nullable.described(
            "The nonce of the login that gave the ID token, as the app made it, or as users/nonce gave it out."
        ),
        "code": .string.length(1...4096).described(
            "The authorization code of a dialog that the client has opened itself."
        ),
        "redirectUri": .string.notEmpty.described(
            "What that dialog was opened with, to the byte; one of the application's redirectUris."
        ),
        "loginCode": .string.notEmpty.described(
            "The code that a login through the server ended with; counts once, for a minute."
        ),
        "codeVerifier": .string.nullable.described("The verifier of PKCE that belongs to the code or the loginCode."),
        "fieldsMapping": .fieldsMapping,
        "fieldsMappings": .fieldsMapping,
        "appId": .string.nullable.described("Which of the application's apps at the provider the credential is for."),
        "invitation": .invitation,
    ]).described(
        """
        One credential: accessToken, idToken, code with redirectUri, loginCode, or authResponse. Members that are not \
        named here are ignored; `null` counts as absent.
        """
    ).named("Login")

    static let fieldsMapping = dictionary(of: .string).nullable.rule("maxProperties", .integer(64)).described(
        """
        The provider's field → property. A text that holds the object counts like the object. Both names of it must \
        say the same.
        """
    ).named("FieldsMapping")

    static let trustedDevice = string.nullable.described(
        """
        What a login that a second factor has finished on this device answered as trusted-device. Any other text is as \
        none.
        """
    ).named("TrustedDevice")

    static let invitation = string.nullable.described(
        """
        By what a new person was invited: the token of the link that was sent to them. Somebody who is a user logs in \
        whatever it is, and does not use it.
        """
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
