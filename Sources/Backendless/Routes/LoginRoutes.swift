import Applications
import HTTP
import HTTPTypes
import Hummingbird
import Logins
import Vocabulary

/// `loginWithFacebook` under its own name, and the three paths that client SDKs use for every provider
/// (docs/protocols/backendless.md §1.3): one handler.
struct LoginRoutes {
    let signIn: SignIn

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/loginWithFacebook") { request, context, application in
            try await login(request, by: .facebookPath, context: context, application: application)
        }
        for path in ["users/social/:provider/sdk/login", "users/social/:provider/login", "users/oauth/:provider/login"]
        {
            routes.on(.post, path) { request, context, application in
                let provider = try context.provider()
                return try await login(request, by: provider, context: context, application: application)
            }
        }
        // JS SDK 3 names the application once more behind the path (docs/protocols/backendless.md §1.3).
        routes.onHeaderBound(.post, "users/social/:provider/login/:applicationId") { request, context, application in
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
        // A dead token on a login is what SDKs send after a session has ended; it is no reason to refuse
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
    /// What the paths of Backendless call Facebook, which name no provider.
    static let facebookPath = ProviderName(known: "facebook")
}

extension Request {
    /// What the client gives to one login and its repetitions: 1 to 255 characters of printable ASCII; nil when it
    /// gives none.
    ///
    /// - Throws: `malformed_request` for any other text.
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
