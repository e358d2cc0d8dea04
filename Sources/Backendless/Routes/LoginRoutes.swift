import Applications
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import PublicAPI

/// The routes of logins by a provider.
///
/// One handler serves `loginWithFacebook` and the three paths that client SDKs use for every provider
/// (docs/protocols/backendless.md §1.3).
struct LoginRoutes {
    let signIn: SignIn

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/loginWithFacebook", .loginWithFacebook) { request, context, application in
            try await login(request, by: .facebookPath, context: context, application: application)
        }
        for (path, operation) in [
            ("users/social/:provider/sdk/login", Operation.socialSdkLogin),
            ("users/social/:provider/login", .socialSdkLogin.again("socialLogin")),
            ("users/oauth/:provider/login", .socialSdkLogin.again("oauthLogin")),
        ] {
            routes.on(.post, path, operation) { request, context, application in
                let provider = try context.provider()
                return try await login(request, by: provider, context: context, application: application)
            }
        }
        // JS SDK 3 repeats the application id at the end of the path (docs/protocols/backendless.md §1.3).
        let headerBound = routes.below(Backendless.headers)
        headerBound.on(.post, "users/social/:provider/login/:applicationId", .socialLoginV3) {
            request,
            context,
            application in
            let provider = try context.provider()
            guard context.parameters.get("applicationId") == application.application.id.text else {
                throw Failure(.unknownApplication, "The path names another application than the header application-id.")
            }
            return try await login(request, by: provider, context: context, application: application)
        }
    }

    private func login(
        _ request: Request,
        by provider: ProviderName,
        context: APIContext,
        application: LoadedApplication
    ) async throws -> Response {
        let body = try await LoginBody.read(request)
        // SDKs still send the token of an ended session with a login; an invalid token is no reason to refuse
        // (docs/protocols/backendless.md §1.2).
        let login = try LoginBody.parse(
            body,
            provider: provider,
            previousToken: request.userToken,
            keyLabel: context.apiKey?.label,
            idempotencyKey: try request.idempotencyKey(of: body)
        )
        return .signedIn(try await signIn.signIn(login, to: application, logger: context.logger))
    }
}

extension ProviderName {
    /// The provider of those paths of Backendless that mean Facebook without naming a provider.
    static let facebookPath = ProviderName(known: "facebook")
}

extension Request {
    /// Returns the idempotency key that the client sends with a login and its retries; nil without the header.
    ///
    /// - Throws: `malformed_request` unless the key has 1 to 255 characters of printable ASCII.
    func idempotencyKey(of body: JSONObject) throws(Failure) -> IdempotencyKey? {
        guard let key = headers[.idempotencyKey] else { return nil }
        guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw Failure(
                .malformedRequest,
                "The header Idempotency-Key must be 1 to 255 characters of printable ASCII, such as a random UUID."
            )
        }
        return IdempotencyKey(key, method: method.rawValue, path: uri.path, body: body)
    }
}

extension Operation {
    fileprivate static let loginWithFacebook = Operation(
        "loginWithFacebook",
        under: "login",
        "Logs a person in by a Facebook credential, or by the code that a login through the server ended with.",
        more: """
            Verifies the credential with Facebook, creates the user at the first login and updates it at later ones by \
            the mapping, and opens a session. Repeating it with an access token is harmless. If the user-token header \
            names a live session of the same user, that session ends.
            """,
        parameters: [.previousUserToken, .idempotencyKey],
        body: .login,
        .signedIn,
        or: [.forbidden, .unprocessable, .timeout]
    )

    fileprivate static let socialSdkLogin = loginWithFacebook.again(
        "socialSdkLogin",
        "The same by the provider that the path names, as client SDKs call it."
    )

    fileprivate static let socialLoginV3 = Operation(
        "socialLoginV3",
        under: "login",
        "The same, of JS SDK 3: only under /v1.",
        parameters: [Parameter("applicationId", in: .path, .string, "As the header application-id has it.")],
        body: .login,
        .signedIn,
        or: [.forbidden, .unprocessable, .timeout]
    )
}

extension Parameter {
    static let previousUserToken = Parameter(
        "user-token",
        in: .header,
        as: "PreviousUserToken",
        .string,
        "The session that the client already has, if any. A dead one is no reason to refuse."
    )

    static let idempotencyKey = Parameter(
        "Idempotency-Key",
        in: .header,
        as: "IdempotencyKey",
        .string.length(1...255).pattern("^[ -~]+$"),
        """
        Any text that the client chose for this login. An ID token counts once; the same request, which is method, \
        path and body, under the same key within 60 seconds is the same login and gets the same session. Another \
        request under it is `idempotency_key_reused`.
        """
    )
}
