import Applications
import Domain
import Encodings
import HTTP
import Hummingbird
import PublicAPI

/// The route by which clients continue a session (docs/protocols/firebase.md §8).
struct RefreshRoutes {
    let tokens: IDTokens

    func mount(on routes: ApplicationRoutes) {
        routes.on(Call.token.method, Call.token.path, nil) { request, _, loaded in
            let application = try ServedApplication(loaded)
            let (grant, token) = try await Self.read(request)
            guard let grant else { throw Failure.google("MISSING_GRANT_TYPE", "Send grant_type.") }
            guard grant == "refresh_token" else {
                throw Failure.google("INVALID_GRANT_TYPE", "The grant type must be refresh_token.")
            }
            guard let token, !token.utf8.isEmpty else {
                throw Failure.google("MISSING_REFRESH_TOKEN", "Send refresh_token.")
            }
            let pair = try await tokens.refresh(token, in: application)
            let idToken = JSONValue.string(pair.idToken.reveal())
            return .google([
                "access_token": idToken, "expires_in": .string(String(IDTokens.seconds)),
                "token_type": .string("Bearer"),
                "refresh_token": .string(pair.refreshToken.reveal()), "id_token": idToken,
                "user_id": .string(pair.account.id), "project_id": .string(application.projectID),
            ])
        }
    }

    /// Reads the grant type and the refresh token: the SDK for the web sends a form, the one for iOS JSON.
    private static func read(_ request: Request) async throws(Failure) -> (grant: String?, token: String?) {
        if let type = request.headers[.contentType], Request.essence(of: type, is: "application/json") {
            let fields = try await CallFields.read(request)
            return (try fields.text("grantType"), try fields.text("refreshToken"))
        }
        let form = try await request.formBody(upTo: Request.bodyLimit)
        return (try form.value("grant_type"), try form.value("refresh_token"))
    }
}
