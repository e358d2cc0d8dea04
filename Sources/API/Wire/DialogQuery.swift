import Federation
import Identity

/// The query with which Facebook's dialog sends the browser back (facebook.md §1.6).
enum DialogQuery {
    private static let mostParameters = 32
    private static let longestValue = 4096

    /// Reads what is known of a query; the rest is Facebook's to add to.
    ///
    /// A parameter that is there twice, or cannot be decoded, or is too long, is nobody's and so is not there.
    static func parse(_ query: String?) -> DialogAnswer {
        var parameters = Parameters()
        for part in (query ?? "").utf8.split(separator: UInt8(ascii: "&"), maxSplits: mostParameters) {
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = pair.first, let value = pair.dropFirst().first else { continue }
            parameters.take(
                Substring(name),
                value.count > longestValue ? nil : PercentEncoding.decode(Substring(value), plusIsSpace: true)
            )
        }
        var answer = DialogAnswer()
        answer.state = parameters["state"]
        answer.code = parameters["code"].map(Secret.init)
        answer.error = parameters["error"]
        answer.errorReason = parameters["error_reason"]
        // App and configuration errors come with a number and without `error`.
        answer.errorCode = parameters["error_code"] ?? parameters["error_message"].map { _ in "" }
        // Nothing declined is said by an empty list.
        answer.deniedScopes = parameters.value(of: "denied_scopes")
        return answer
    }

    /// The known parameters, compared as bytes.
    private struct Parameters {
        private static let known = [
            "state", "code", "error", "error_reason", "error_code", "error_message", "denied_scopes",
        ]
        private var values: [(name: String, value: String?)] = []

        mutating func take(_ name: Substring, _ value: String?) {
            guard let name = Self.known.first(where: { $0.utf8.elementsEqual(name.utf8) }) else { return }
            if let index = values.firstIndex(where: { $0.name == name }) {
                values[index].value = nil
            } else {
                values.append((name, value))
            }
        }

        func value(of name: String) -> String? { values.first { $0.name == name }?.value }

        /// The value unless it is empty.
        subscript(name: String) -> String? { value(of: name).flatMap { $0.utf8.isEmpty ? nil : $0 } }
    }
}
