package import Providers
import Vocabulary

/// How Facebook's dialog words its answer when it sends the browser back (docs/protocols/facebook.md §1.6).
package enum DialogReply {
    /// Why there is no code.
    package enum Refusal: Sendable, Equatable {
        /// The person did not want to.
        case cancelled
        /// Facebook has a problem of its own, which passes; with its number of the error, if it said one.
        case trouble(code: Int64?)
        /// The app may not open the dialog, or not like this; with the number, if it said one.
        case app(code: Int64?)
    }

    /// Reads what stands in place of a code; nil when the dialog says nothing of the kind.
    package static func refusal(in answer: DialogAnswer) -> Refusal? {
        let (error, reason) = (answer.filled("error"), answer.filled("error_reason"))
        if error?.hasSameBytes(as: "access_denied") == true || reason?.hasSameBytes(as: "user_denied") == true {
            return .cancelled
        }
        // App and configuration errors come with a number and without `error`.
        let code = answer.filled("error_code")
        guard error != nil || code != nil || answer.filled("error_message") != nil else { return nil }
        let number = code.flatMap { $0.utf8.count <= 10 ? Int64($0) : nil }
        // 1 and 2 are Facebook's own trouble, as on Graph; OAuth has two words for the same (RFC 6749 §4.1.2.1).
        let passing = ["server_error", "temporarily_unavailable"].contains { error?.hasSameBytes(as: $0) == true }
        return passing || number == 1 || number == 2 ? .trouble(code: number) : .app(code: number)
    }

    /// Most permissions that are looked at.
    private static let mostScopes = 100

    /// The names of permissions in `denied_scopes`, as far as they are some; nil when it is not there.
    ///
    /// Nothing declined is said by an empty list.
    package static func declinedScopes(in answer: DialogAnswer) -> [String]? {
        answer["denied_scopes"].map { list in
            list.split(maxSplits: mostScopes) { $0 == "," || $0 == " " }.filter(PermissionName.isValid).map(String.init)
        }
    }
}
