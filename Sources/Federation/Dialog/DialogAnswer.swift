package import Identity

/// What Facebook's dialog says when it sends the browser back (facebook.md §1.6), as it stands in the query.
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
        if error?.hasSameBytes(as: "access_denied") == true || errorReason?.hasSameBytes(as: "user_denied") == true {
            return Failure(.loginCancelled, "The login with Facebook was cancelled. Nothing has changed.")
        }
        guard error != nil || errorCode != nil else { return nil }
        let code = errorCode.flatMap { $0.utf8.count <= 10 ? Int64($0) : nil }
        let details: JSONObject = code.map { ["graphCode": .integer($0)] } ?? JSONObject()
        // 1 and 2 are Facebook's own trouble, as on Graph; OAuth has two words for the same (RFC 6749 §4.1.2.1).
        let passing = ["server_error", "temporarily_unavailable"].contains { error?.hasSameBytes(as: $0) == true }
        if passing || code == 1 || code == 2 {
            return Failure(
                .providerUnavailable,
                "Facebook has a problem of its own. Start the login with Facebook over, in a moment.",
                details: details,
                retryAfter: 2,
                cause: "the dialog said so"
            )
        }
        return Failure(
            .providerMisconfigured,
            """
            Facebook's login dialog refuses this app. The operator has to check the app at developers.facebook.com: whether it is \
            active, may ask for these permissions, and lists our address under "Valid OAuth Redirect URIs".
            """,
            details: details,
            retryAfter: 60,
            cause: "the dialog refused the app"
        )
    }

    /// Most permissions that are looked at.
    private static let mostScopes = 100

    /// The permissions that the person declined, as far as they are names of permissions; nil when the dialog does not say.
    var declinedScopes: [String]? {
        deniedScopes.map { list in
            list.split(maxSplits: Self.mostScopes) { $0 == "," || $0 == " " }.filter(PermissionName.isValid).map(
                String.init
            )
        }
    }
}
