import Applications
import Description
import Domain
import Encodings
import HTTP
import Logins
import Providers

/// Parses the JSON body that asks for the URL of a login dialog, in every spelling that client SDKs use.
///
/// See docs/protocols/backendless.md §2.4.
struct DialogBody {
    let dialog: DialogRequest
    /// The host name to which the provider redirects the browser after the dialog.
    let callbackURLDomain: String?
    /// Whether the response must be a redirect to the dialog instead of its URL.
    let redirect: Bool

    private static let maxPermissions = 50

    /// Parses the body of a request.
    ///
    /// An absent body counts as an empty object. So does `null`, which JS SDK 3 sends if an app sets no member. A
    /// member that is `null` or an empty text counts as absent. An unknown member is an error, since the service could
    /// not do what the client wants.
    ///
    /// - Throws: `malformed_request` or `payload_too_large`.
    init(_ bytes: [UInt8]?, origin: String?) throws(Failure) {
        let value =
            try bytes.map { bytes throws(Failure) in try JSONParser.parse(body: bytes, limits: .request) } ?? .null
        let body = value.isNull ? JSONObject() : try JSONObject(body: value)
        try Self.refuseUnknown(in: body)
        var dialog = DialogRequest()
        dialog.mapping = try LoginBody.mapping(in: body)
        dialog.wishes.permissions = try Self.permissions(in: body)
        dialog.wishes.authType = try Self.authType(in: body)
        dialog.appID = try Self.text("appId", in: body)
        dialog.redirectAfterLoginURL = try Self.text("redirectAfterLoginUrl", in: body)
        callbackURLDomain = try Self.text("callbackUrlDomain", in: body)
        dialog.codeChallenge = try Self.codeChallenge(in: body)
        dialog.wishes.configID = try Self.text("configId", in: body)
        dialog.wishes.loginHint = try Self.loginHint(in: body)
        dialog.isForLinking = try Self.flag("linking", in: body)
        dialog.invitation = try Self.text("invitation", in: body).map { InvitationToken($0) }
        dialog.origin = origin
        self.dialog = dialog
        redirect = try Self.flag("redirect", in: body)
    }

    private static func loginHint(in body: JSONObject) throws(Failure) -> String? {
        guard let hint = try text("loginHint", in: body) else { return nil }
        guard hint.utf8.count <= 255, hint.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw Failure(
                .malformedRequest,
                "loginHint must be a text of at most 255 bytes, such as an e-mail address."
            )
        }
        return hint
    }

    private static let known = [
        "fieldsMapping", "fieldsMappings", "permissions", "authType", "configId", "loginHint",
        "redirectAfterLoginUrl", "codeChallenge", "codeChallengeMethod", "redirect", "callbackUrlDomain", "appId",
        "linking", "invitation",
        "contentType",
    ]

    /// The maximum number of unknown members that an error message names.
    ///
    /// A name has at most 128 bytes of ASCII.
    private static let maxNamed = 5

    private static func refuseUnknown(in body: JSONObject) throws(Failure) {
        let unknown = body.members.map(\.key).filter { key in !known.contains { $0.hasSameBytes(as: key) } }
        guard !unknown.isEmpty else { return }
        throw Failure(
            .malformedRequest,
            """
            Not known here: \(unknown.prefix(maxNamed).joined(separator: ", "))\
            \(unknown.first.map { NearestName.hint(for: $0, among: known) } ?? ""). Leave them out; known are \
            \(known.joined(separator: ", ")).
            """
        )
    }

    private static func text(_ key: String, in body: JSONObject) throws(Failure) -> String? {
        guard let text = try body.text(key), !text.utf8.isEmpty else { return nil }
        return text
    }

    private static func flag(_ key: String, in body: JSONObject) throws(Failure) -> Bool {
        guard let value = body.present(key) else { return false }
        guard let flag = value.bool else {
            throw Failure(.malformedRequest, "\(key) must be true or false, it is \(value.kind).")
        }
        return flag
    }

    /// Reads the permissions: a list of texts, or one text in which commas or spaces separate the names.
    private static func permissions(in body: JSONObject) throws(Failure) -> [String]? {
        guard let value = body.present("permissions") else { return nil }
        let names: [Substring]
        if let text = value.string {
            names = text.utf8.split(maxSplits: maxPermissions) { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }
                .map { Substring($0) }
        } else if let texts = value.array?.map(\.string), !texts.contains(nil) {
            names = texts.compactMap { $0?[...] }
        } else {
            throw Failure(
                .malformedRequest,
                "permissions must be an array of names, or a text with names separated by commas or spaces."
            )
        }
        guard names.count <= maxPermissions, names.allSatisfy({ !$0.utf8.isEmpty }) else {
            throw Failure(
                .malformedRequest,
                "permissions must be at most \(maxPermissions) names without an empty one."
            )
        }
        return names.isEmpty ? nil : names.map(String.init)
    }

    private static func authType(in body: JSONObject) throws(Failure) -> DialogAuthType? {
        guard let text = try text("authType", in: body) else { return nil }
        guard let type = DialogAuthType.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) }) else {
            let types = DialogAuthType.allCases.map(\.rawValue).joined(separator: ", ")
            throw Failure(.malformedRequest, "authType must be one of \(types).")
        }
        return type
    }

    /// Reads the PKCE code challenge.
    ///
    /// Only the method S256 is accepted. With the method `plain`, the challenge is the verifier itself, so everyone who
    /// sees the URL would know the verifier (RFC 9700 §2.1.1).
    private static func codeChallenge(in body: JSONObject) throws(Failure) -> String? {
        let challenge = try text("codeChallenge", in: body)
        if let method = try text("codeChallengeMethod", in: body) {
            guard method.hasSameBytes(as: "S256") else {
                throw Failure(.malformedRequest, "codeChallengeMethod must be S256.")
            }
            guard challenge != nil else {
                throw Failure(.malformedRequest, "codeChallengeMethod needs a codeChallenge.")
            }
        }
        guard let challenge else { return nil }
        guard challenge.utf8.count == 43, challenge.utf8.allSatisfy(Base64URL.isCharacter) else {
            throw Failure(
                .malformedRequest,
                "codeChallenge must be the SHA-256 of the verifier in base64url, 43 characters."
            )
        }
        return challenge
    }
}

extension Schema {
    fileprivate static let dialog = object(optional: [
        "fieldsMapping": .fieldsMapping,
        "fieldsMappings": .fieldsMapping,
        "permissions": .array(of: .string.pattern("^[a-z0-9_]{1,64}$")).nullable.count(upTo: 50).described(
            """
            The permissions that the dialog requests. The default is configured by the operator. A text with commas or \
            spaces is also accepted.
            """
        ),
        "redirect": .boolean.nullable.described("Whether the response is a 303 to the dialog instead of its address."),
        "redirectAfterLoginUrl": .string.nullable.described(
            "Where the login ends: one of the application's returnUrls, byte for byte."
        ),
        "callbackUrlDomain": .string.nullable.described(
            "The host name to which Facebook redirects the browser: one of the application's, or the service's own."
        ),
        "codeChallenge": .string.nullable.pattern("^[A-Za-z0-9_-]{43}$").described(
            "SHA-256 of the client's verifier in base64url. The loginCode then needs the verifier."
        ),
        "codeChallengeMethod": .oneOf("S256"),
        "authType": .cases(of: DialogAuthType.self),
        "appId": .string.nullable.described("The Facebook app of the application for this login."),
        "linking": .boolean.nullable.described(
            "Whether the loginCode is for a session that links the identity. The dialog then asks for no second factor."
        ),
        "configId": .string.nullable.pattern("^([0-9]{1,32})?$").described(
            """
            The configuration of Facebook Login for Business for the dialog. The default is that of the app, if any. \
            No further permissions are requested unless permissions are given.
            """
        ),
        "loginHint": .string.nullable.described(
            "The account that the dialog proposes, such as an e-mail address. Only providers of the kind `oidc` use it."
        ),
        "invitation": .invitation,
        "contentType": .string.nullable.described("Accepted and ignored."),
    ]).described(
        """
        No body and `null` are an empty object. `null` and empty members count as absent. A mapping has at most 2048 \
        bytes.
        """
    ).named("Dialog")
}

extension Content {
    static let dialog = Content(
        .dialog,
        examples: [
            "plain": #"{}"#,
            "asked": """
            {
              "permissions": ["email", "user_birthday"], "redirectAfterLoginUrl": "https://app.example.com/done",
              "codeChallenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "codeChallengeMethod": "S256"
            }
            """,
        ],
        named: "Dialog",
        isRequired: false
    )
}
