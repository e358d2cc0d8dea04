/// What an app asks of the login dialog, checked.
struct DialogRequest: Sendable {
    /// Why there is no dialog to show; a person reads it, and no app is told.
    struct Refusal: Error {
        let reason: String
    }

    /// The parameters that the page carries from the request to the answer.
    private static let names = [
        "client_id", "redirect_uri", "response_type", "scope", "state", "nonce", "return_scopes", "auth_type",
        "auth_nonce",
        "code_challenge", "code_challenge_method",
    ]

    let app: App
    let redirectURI: String
    /// What is asked for, each permission once; `public_profile` is always among it.
    let scopes: [String]
    let state: String?
    let nonce: String?
    let returnsScopes: Bool
    let authType: String?
    let authNonce: String?
    let challenge: String?
    let challengeMethod: CodeChallengeMethod
    /// The parameters as they came, for the page's form.
    let parameters: [(name: String, value: String)]

    init(_ request: GraphRequest, world: World) throws(Refusal) {
        guard let id = request.parameter("client_id"), let app = world.app(id) else {
            throw Refusal(reason: "Invalid App ID: there is no app with this client_id.")
        }
        self.app = app
        redirectURI = try Self.redirectURI(request.parameter("redirect_uri"), app: app)
        let responseType = request.parameter("response_type") ?? "code"
        guard responseType.utf8.elementsEqual("code".utf8) else {
            throw Refusal(reason: "This dialog answers with response_type=code only.")
        }
        scopes = try Self.scopes(request.parameter("scope") ?? "")
        let method = request.parameter("code_challenge_method") ?? CodeChallengeMethod.plain.rawValue
        let methods = CodeChallengeMethod.allCases
        guard let method = methods.first(where: { $0.rawValue.utf8.elementsEqual(method.utf8) }) else {
            throw Refusal(reason: "code_challenge_method must be S256 or plain.")
        }
        challengeMethod = method
        challenge = request.parameter("code_challenge")
        state = request.parameter("state")
        nonce = request.parameter("nonce")
        returnsScopes = request.parameter("return_scopes")?.utf8.elementsEqual("true".utf8) ?? false
        authType = request.parameter("auth_type")
        authNonce = request.parameter("auth_nonce")
        parameters = Self.names.compactMap { name in request.parameter(name).map { (name, $0) } }
    }

    /// Whether permissions that the person declined before are asked for once more.
    var asksAgain: Bool { authType?.utf8.elementsEqual("rerequest".utf8) ?? false }

    /// `metadata` of the token to come, as `debug_token` shows it.
    var tokenMetadata: JSON? {
        guard authType != nil || authNonce != nil else { return nil }
        var metadata: JSON = [:]
        metadata["auth_type"] = authType.map { .string($0) }
        metadata["auth_nonce"] = authNonce.map { .string($0) }
        return metadata
    }

    /// Whether a person may say no to it.
    static func isOptional(_ scope: String) -> Bool {
        scope != "public_profile" && scope != "openid"
    }

    /// The app's address with what the dialog has to say, behind what is there already.
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
        guard app.redirectURIs.isEmpty || app.redirectURIs.contains(where: { $0.utf8.elementsEqual(text.utf8) }) else {
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
