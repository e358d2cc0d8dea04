import HTTP
import Providers
import Vocabulary

/// The query with which a browser begins a login dialog, and the one with which the dialog sends it back
/// (docs/protocols/facebook.md §1.6).
enum DialogQuery {
    private static let mostParameters = 32
    private static let longestValue = 8192

    /// The ticket with which a browser begins a dialog.
    static func ticket(in query: String?) -> String? { reader(of: query)("dialog") }

    /// Reads what is known of a query; the rest is Facebook's to add to.
    static func parse(_ query: String?) -> DialogAnswer {
        let value = reader(of: query)
        func filled(_ name: String) -> String? { value(name).flatMap { $0.utf8.isEmpty ? nil : $0 } }
        var answer = DialogAnswer()
        answer.state = filled("state")
        answer.code = filled("code").map(Secret.init)
        answer.error = filled("error")
        answer.errorReason = filled("error_reason")
        // App and configuration errors come with a number and without `error`.
        answer.errorCode = filled("error_code") ?? filled("error_message").map { _ in "" }
        // Nothing declined is said by an empty list.
        answer.deniedScopes = value("denied_scopes")
        return answer
    }

    /// Gives the values of parameters; one that is there twice, or cannot be decoded, or is too long, is nobody's and
    /// so is not there.
    private static func reader(of query: String?) -> (String) -> String? {
        let pairs = EncodedPair.read(query ?? "", most: mostParameters, longest: longestValue).prefix(mostParameters)
        return { name in
            let found = pairs.filter { $0.name?.hasSameBytes(as: name) ?? false }
            return found.count == 1 ? found.first?.value : nil
        }
    }
}
