package import Identity
import Verification

/// What Facebook's dialog says when it sends the browser back (docs/protocols/facebook.md §1.6), as it stands in the
/// query.
///
/// All of it passes through the person's browser, so nothing in it is believed but a code that Facebook takes.
package struct DialogAnswer: Sendable {
    package var state: String?
    package var code: Secret?
    package var error: String?
    package var errorReason: String?
    package var errorCode: String?
    package var deniedScopes: String?

    package init() {}

    /// Why there is no code: cancelled, or an error of the app or of Facebook's; nil when the dialog says nothing of the kind.
    ///
    /// Facebook's own text stays out of it.
    var failure: Failure? {
        func details(_ code: Int64?) -> JSONObject { code.map { ["graphCode": .integer($0)] } ?? JSONObject() }
        switch DialogReply.refusal(error: error, reason: errorReason, code: errorCode) {
        case nil:
            return nil
        case .cancelled:
            return Failure(.loginCancelled, "The login with Facebook was cancelled. Nothing has changed.")
        case .trouble(let code):
            return Failure(
                .providerUnavailable,
                "Facebook has a problem of its own. Start the login with Facebook over, in a moment.",
                details: details(code),
                retryAfter: 2,
                cause: "the dialog said so"
            )
        case .app(let code):
            return Failure(
                .providerMisconfigured,
                """
                Facebook's login dialog refuses this app. The operator has to check the app at developers.facebook.com: whether it \
                is active, may ask for these permissions, and lists our address under "Valid OAuth Redirect URIs".
                """,
                details: details(code),
                retryAfter: 60,
                cause: "the dialog refused the app"
            )
        }
    }

    /// The permissions that the person declined, as far as they are names of permissions; nil when the dialog does not say.
    var declinedScopes: [String]? { deniedScopes.map(DialogReply.declinedScopes) }
}
