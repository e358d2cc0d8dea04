import Accounts
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The route by which a client logs in with a token of the application's backend (docs/protocols/firebase.md §10).
struct CustomTokenRoutes {
    let tokens: IDTokens
    let serviceAccounts: ServiceAccounts
    let logins: BackendLogins

    func mount(on paths: Firebase.Paths) {
        paths.on(.signInWithCustomToken) { request, context, application in
            guard let text = try await CallFields.read(request).filled("token") else {
                throw Failure.google("MISSING_CUSTOM_TOKEN", "Send the custom token as token.")
            }
            let token = try await CustomToken(text, in: application, by: serviceAccounts)
            let signedIn = try await logins.logIn(
                uid: token.uid,
                claims: token.claims,
                by: ServerCaller(account: token.account, source: context.peer.text),
                client: context.refreshingClient,
                to: application.loaded,
                logger: context.logger
            )
            let pair = try await tokens.open(signedIn, in: application)
            var json = JSONObject(kind: "VerifyCustomTokenResponse")
            if signedIn.created { json.append("isNewUser", .bool(true)) }
            json.append(pair)
            return .google(json)
        }
    }
}
