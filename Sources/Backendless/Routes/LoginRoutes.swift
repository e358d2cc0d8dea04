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
/// `loginWithFacebook` and the three paths that client SDKs use for every provider have the same handler
/// (docs/protocols/backendless.md §1.3).
struct LoginRoutes {
    let loginFlow: LoginFlow

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
                let provider = try context.provider(of: application)
                return try await login(request, by: provider, context: context, application: application)
            }
        }
        // JS SDK 3 adds the application id at the end of the path, too (docs/protocols/backendless.md §1.3).
        let headerBound = routes.below(Backendless.headers)
        headerBound.on(.post, "users/social/:provider/login/:applicationId", .socialLoginV3) {
            request,
            context,
            application in
            let provider = try context.provider(of: application)
            guard context.parameters.get("applicationId") == application.application.id.text else {
                throw Failure(
                    .unknownApplication,
                    "The path and the header application-id name different applications."
                )
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
        let login = try Self.parsed(try await LoginBody.read(request), of: request, by: provider, context)
        return .signedIn(try await loginFlow.login(login, to: application, logger: context.logger))
    }

    // Not part of `login`, so that a login that waits for its provider keeps nothing of this in memory.
    @inline(never)
    private static func parsed(
        _ body: JSONObject,
        of request: Request,
        by provider: ProviderName,
        _ context: APIContext
    ) throws -> LoginRequest {
        // With a login, SDKs still send the token of the former session. So an invalid token is no reason to refuse the
        // login (docs/protocols/backendless.md §1.2).
        try LoginBody.parse(
            body,
            provider: provider,
            previousSession: request.userSession,
            keyLabel: context.apiKey?.label,
            idempotencyKey: try request.idempotencyKey(of: body)
        )
    }
}

extension ProviderName {
    /// The provider for Backendless's paths that name no provider: Facebook.
    static let facebookPath = ProviderName(known: "facebook")
}

extension Request {
    /// Returns the idempotency key, which the client repeats when it retries a login; nil without the header.
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
        "Logs a user in with a Facebook credential, or with the code of a login through the server.",
        more: """
            Verifies the credential with Facebook, creates the user at the first login or updates the user by the \
            mapping, and opens a session. A request with an access token can be repeated. If the header user-token \
            names a valid session of the same user, that session is revoked.
            """,
        parameters: [.previousUserToken, .idempotencyKey],
        body: .login,
        .signedIn,
        or: [.forbidden, .conflict, .unprocessable, .timeout]
    )

    fileprivate static let socialSdkLogin = loginWithFacebook.again(
        "socialSdkLogin",
        "The same with the provider in the path, as client SDKs call it."
    )

    fileprivate static let socialLoginV3 = Operation(
        "socialLoginV3",
        under: "login",
        "The same for JS SDK 3, only under /v1.",
        parameters: [Parameter("applicationId", in: .path, .string, "The same as in the header application-id.")],
        body: .login,
        .signedIn,
        or: [.forbidden, .conflict, .unprocessable, .timeout]
    )
}

extension Parameter {
    static let previousUserToken = Parameter(
        "user-token",
        in: .header,
        as: "PreviousUserToken",
        .string,
        "The current session of the client, if any. An invalid session is ignored."
    )

    static let idempotencyKey = Parameter(
        "Idempotency-Key",
        in: .header,
        as: "IdempotencyKey",
        .string.length(1...255).pattern("^[ -~]+$"),
        """
        A text that the client chooses for this login. An ID token is single-use: a retry with the same key, method, \
        path and body within 60 seconds gets the same session. Another request with the key fails with \
        `idempotency_key_reused`.
        """
    )
}
