import Encodings
package import Providers

/// Reads the redirect at the end of Facebook's login dialog: Facebook's errors, and the permissions that the user
/// declined.
///
/// See docs/protocols/facebook.md §1.6.
package enum DialogReply {
    /// The reason why the redirect of a login dialog has no authorization code.
    package enum Refusal: Sendable, Equatable {
        /// The user cancelled the login.
        case cancelled
        /// A temporary error of Facebook; `code` is Facebook's error code, or nil if the redirect has none.
        case trouble(code: Int64?)
        /// Facebook refuses the app, or the parameters of the dialog.
        ///
        /// `code` is Facebook's error code, or nil if the redirect has none.
        case app(code: Int64?)
    }

    /// Returns the reason why the redirect has no code; nil if the redirect reports no error.
    package static func refusal(in answer: DialogAnswer) -> Refusal? {
        let (error, reason) = (answer.filled("error"), answer.filled("error_reason"))
        if error?.hasSameBytes(as: "access_denied") == true || reason?.hasSameBytes(as: "user_denied") == true {
            return .cancelled
        }
        // An error of the app or of its configuration has a number and no `error`.
        let code = answer.filled("error_code")
        guard error != nil || code != nil || answer.filled("error_message") != nil else { return nil }
        let number = code.flatMap { $0.utf8.count <= 10 ? Int64($0) : nil }
        // Codes 1 and 2 are errors of Facebook itself, as on Graph. OAuth has two names for such errors (RFC 6749
        // §4.1.2.1).
        let passing = ["server_error", "temporarily_unavailable"].contains { error?.hasSameBytes(as: $0) == true }
        return passing || number == 1 || number == 2 ? .trouble(code: number) : .app(code: number)
    }

    /// The maximum number of permissions that are read from `denied_scopes`.
    private static let maxScopes = 100

    /// Returns the valid permission names in `denied_scopes`; nil when the parameter is absent.
    ///
    /// An empty list means that the user declined nothing.
    package static func declinedScopes(in answer: DialogAnswer) -> [String]? {
        answer["denied_scopes"].map { list in
            list.split(maxSplits: maxScopes) { $0 == "," || $0 == " " }.filter(PermissionName.isValid).map(String.init)
        }
    }
}
