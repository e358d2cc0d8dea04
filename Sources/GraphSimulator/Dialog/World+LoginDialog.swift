import Encodings

/// The login dialog, `/dialog/oauth`.
///
/// It asks for a user and permissions, and then redirects to the app with the result.
extension World {
    mutating func loginDialog(_ request: GraphRequest, now: Int) -> GraphReply {
        do throws(DialogRequest.Refusal) {
            let asked = try DialogRequest(request, world: self)
            if let error = asked.app.dialogError {
                return .redirect(
                    to: asked.callback([("error_code", String(error.code)), ("error_message", error.message)])
                )
            }
            switch request.method {
            case "GET": return .page(DialogPage.choice(asked, people: people), status: 200)
            case "POST": return try conclude(asked, request, now: now)
            default: throw DialogRequest.Refusal(reason: "The dialog answers to GET and POST only.")
            }
        } catch {
            return .page(DialogPage.refusal(error.reason), status: 400)
        }
    }

    /// Handles the form of the dialog after the user pressed a button: redirects to the app with a code or an error.
    private mutating func conclude(
        _ asked: DialogRequest,
        _ request: GraphRequest,
        now: Int
    ) throws(DialogRequest.Refusal) -> GraphReply {
        guard let action = request.parameter("action"), ["continue", "cancel"].contains(action.prefix(10)) else {
            throw DialogRequest.Refusal(reason: "Press one of the dialog's buttons.")
        }
        guard action == "continue" else {
            return .redirect(
                to: asked.callback([
                    ("error_reason", "user_denied"), ("error", "access_denied"),
                    ("error_description", "Permissions error"),
                ])
            )
        }
        guard var person = request.parameter("person").flatMap({ people[$0] }) else {
            throw DialogRequest.Refusal(reason: "Choose a person.")
        }
        let ticked = request.parameters.filter { $0.name == "granted" }.map(\.value)
        for scope in asked.scopes {
            // The dialog asks for a declined permission only if the app requests this.
            if person.status(of: scope) == .declined, !asked.asksAgain { continue }
            person.set(scope, !DialogRequest.isOptional(scope) || ticked.contains(scope) ? .granted : .declined)
        }
        people[person.key] = person
        let granted = asked.scopes.filter { person.status(of: $0) == .granted }
        let code: String
        do {
            code = try self.code(
                CodeRequest(
                    person: person.key,
                    app: asked.app.id,
                    redirectURI: asked.redirectURI,
                    scopes: granted,
                    nonce: asked.nonce,
                    challenge: asked.challenge,
                    metadata: asked.tokenMetadata
                ),
                now: now
            )
        } catch {
            throw DialogRequest.Refusal(reason: error.description)
        }
        var answer = [(name: "code", value: code)]
        if asked.returnsScopes {
            let denied = asked.scopes.filter { !granted.contains($0) }
            answer.append(("granted_scopes", granted.joined(separator: ",")))
            answer.append(("denied_scopes", denied.joined(separator: ",")))
        }
        return .redirect(to: asked.callback(answer, fragment: "#_=_"))
    }
}

extension GraphReply {
    static func redirect(to location: String) -> GraphReply {
        GraphReply(status: 302, headers: [("Location", location)], origin: .website)
    }

    fileprivate static func page(_ html: String, status: Int) -> GraphReply {
        GraphReply(
            status: status,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"),
                ("X-Frame-Options", "DENY"), ("X-Content-Type-Options", "nosniff"),
            ],
            bytes: Array(html.utf8),
            origin: .website
        )
    }
}

/// An app's validated request for the login dialog.
struct DialogRequest: Sendable {
    /// An error: the dialog cannot be displayed, for the given reason.
    ///
    /// Only the user sees the reason; the app gets no response.
    struct Refusal: Error {
        let reason: String
    }

    /// The names of the parameters that the dialog's form contains as hidden inputs.
    ///
    /// So the form sends the parameters of the app's request again when the user presses a button.
    private static let names = [
        "client_id", "redirect_uri", "response_type", "scope", "state", "nonce", "return_scopes", "auth_type",
        "auth_nonce", "code_challenge", "code_challenge_method",
    ]

    let app: App
    let redirectURI: String
    /// The requested permissions, without duplicates.
    ///
    /// `public_profile` is always included.
    let scopes: [String]
    let state: String?
    let nonce: String?
    let returnsScopes: Bool
    let authType: String?
    let authNonce: String?
    let challenge: (text: String, method: CodeChallengeMethod)?
    /// The parameters of the app's request, unchanged.
    ///
    /// The dialog's form contains them as hidden inputs.
    let parameters: [(name: String, value: String)]

    init(_ request: GraphRequest, world: World) throws(Refusal) {
        guard let id = request.parameter("client_id"), let app = world.apps[id] else {
            throw Refusal(reason: "Invalid App ID: there is no app with this client_id.")
        }
        self.app = app
        redirectURI = try Self.redirectURI(request.parameter("redirect_uri"), app: app)
        let responseType = request.parameter("response_type") ?? "code"
        guard responseType == "code" else {
            throw Refusal(reason: "This dialog answers with response_type=code only.")
        }
        scopes = try Self.scopes(request.parameter("scope") ?? "")
        let method = request.parameter("code_challenge_method") ?? CodeChallengeMethod.plain.rawValue
        guard let method = CodeChallengeMethod(rawValue: method) else {
            throw Refusal(reason: "code_challenge_method must be S256 or plain.")
        }
        challenge = request.parameter("code_challenge").map { ($0, method) }
        state = request.parameter("state")
        nonce = request.parameter("nonce")
        returnsScopes = request.parameter("return_scopes") == "true"
        authType = request.parameter("auth_type")
        authNonce = request.parameter("auth_nonce")
        parameters = Self.names.compactMap { name in request.parameter(name).map { (name, $0) } }
    }

    /// Whether the dialog asks again for permissions that the user has declined.
    var asksAgain: Bool { authType == "rerequest" }

    /// The `metadata` of the token to be issued, as `debug_token` shows it.
    fileprivate var tokenMetadata: JSON? {
        guard authType != nil || authNonce != nil else { return nil }
        var metadata: JSON = [:]
        metadata["auth_type"] = authType.map { .string($0) }
        metadata["auth_nonce"] = authNonce.map { .string($0) }
        return metadata
    }

    /// Whether a user may decline a permission.
    static func isOptional(_ scope: String) -> Bool {
        scope != "public_profile" && scope != "openid"
    }

    /// Appends the given parameters and the request's `state` to the query of the app's redirect URI, and returns the
    /// result.
    func callback(_ parameters: [(name: String, value: String)], fragment: String = "") -> String {
        let state = state.map { [("state", $0)] } ?? []
        let separator = redirectURI.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return redirectURI + separator + FormEncoding.encode(parameters + state) + fragment
    }

    private static func redirectURI(_ text: String?, app: App) throws(Refusal) -> String {
        guard let text, !text.isEmpty else { throw Refusal(reason: "The parameter redirect_uri is required.") }
        let isAbsolute = ["http://", "https://"].contains { text.utf8.starts(with: $0.utf8) }
        let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }
        guard isAbsolute, isPlain else {
            throw Refusal(reason: "The redirect_uri must be an absolute http or https URL without a fragment.")
        }
        guard app.redirectURIs.isEmpty || app.redirectURIs.contains(where: { $0.hasSameBytes(as: text) }) else {
            throw Refusal(
                reason: "URL blocked: the redirect_uri is not one of the app's valid OAuth redirect URIs, which are "
                    + "compared exactly, query and all."
            )
        }
        return text
    }

    private static func scopes(_ text: String) throws(Refusal) -> [String] {
        var scopes = ["public_profile"]
        for scope in text.utf8.split(whereSeparator: { $0 == UInt8(ascii: ",") || $0 == 0x20 }) {
            let isName = scope.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "_")
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
            guard isName, scope.count <= 64, scopes.count <= 100 else {
                throw Refusal(reason: "Invalid Scopes: \(String(decoding: scope.prefix(64), as: UTF8.self))")
            }
            let name = String(decoding: scope, as: UTF8.self)
            if !scopes.contains(name) { scopes.append(name) }
        }
        return scopes
    }
}
