package import Curl
package import Domain
package import Providers

extension Dialog {
    /// Returns the address of the dialog (RFC 6749 §4.1.1, RFC 7636 §4.3).
    ///
    /// - Parameters:
    ///   - endpoint: The server's authorization endpoint.
    ///   - scopes: The scopes to ask for, if the client wishes no others.
    ///   - further: Further parameters of the server, or of OpenID Connect.
    /// - Returns: The address for the browser.
    package func address(
        at endpoint: HTTPURL,
        scopes: [String],
        adding further: [(name: StaticString, value: String)] = []
    ) -> String {
        var query = Parameters()
        query.add("response_type", "code")
        query.add("client_id", app.id.text)
        query.add("redirect_uri", redirectURI)
        query.add("scope", (wishes.permissions ?? scopes).joined(separator: " "))
        query.add("state", state.reveal())
        if let codeChallenge {
            query.add("code_challenge", codeChallenge)
            query.add("code_challenge_method", "S256")
        }
        for (name, value) in further { query.add(name, value) }
        return endpoint.adding(query: query.text)
    }
}

extension AuthorizationServer {
    /// Returns the failure that the redirect of a dialog reports (RFC 6749 §4.1.2.1, OpenID Connect Core 3.1.2.6); nil
    /// if it reports none.
    package func failure(in answer: DialogAnswer) -> Failure? {
        guard let answered = answer.filled("error") else { return nil }
        // A text that is longer than all words is not compared (decision D5).
        let error = answered.utf8.count <= 64 ? answered : ""
        switch error {
        // The second name is Apple's, the third LinkedIn's.
        case "access_denied", "user_cancelled_authorize", "user_cancelled_login":
            return Failure(.loginCancelled, "The login with \(service.name) was cancelled. Nothing has changed.")
        case "server_error", "temporarily_unavailable":
            return .unavailable(service, cause: "the dialog said so")
        case "login_required", "consent_required", "interaction_required", "account_selection_required":
            return Failure(.userActionRequired, "\(service.name) needs an action of the user. Start the login again.")
        default:
            return Failure(
                .providerMisconfigured,
                "\(service.name) refuses the login dialog of this app. The operator must check the client's settings.",
                retryAfter: 60,
                cause: "the dialog refused the client"
            )
        }
    }
}
