package import Vocabulary

/// An option of a provider that is a secret as an app's secret is one: written, never read.
package struct SecretOption: Sendable {
    /// Its name among the options.
    package let name: String
    /// What it is called in a sentence.
    package let title: String
    /// How the environment variable for it ends in an exported document.
    package let variable: String
    /// How many bytes it may have.
    package let bytes: ClosedRange<Int>

    package init(name: String, title: String, variable: String, bytes: ClosedRange<Int>) {
        self.name = name
        self.title = title
        self.variable = variable
        self.bytes = bytes
    }

    /// What is wrong with a text, for people; nil when nothing is.
    package func problem(of secret: Secret, from source: String = "") -> String? {
        secret.problem(as: title + source, bytes: bytes)
    }
}

extension Secret {
    /// What is wrong with a secret that is sent in headers and forms, for people; nil when nothing is.
    package func problem(as title: String, bytes: ClosedRange<Int>) -> String? {
        let isVisible = reveal().utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard !isVisible || !bytes.contains(byteCount) else { return nil }
        return
            "\(title) must be \(bytes.lowerBound) to \(bytes.upperBound) visible ASCII characters without spaces"
    }
}

extension ProviderKind {
    /// The names of all options, secret or not.
    package var allOptionNames: [String] { optionNames + secretOptions.map(\.name) }

    /// All options: the secret ones behind the others, `null` where there is none.
    package func options(_ options: JSONValue, with secrets: (SecretOption) -> JSONValue?) -> JSONValue {
        let secrets = secretOptions.map { JSONObject.Member($0.name, secrets($0) ?? .null) }
        return .object(JSONObject((options.object?.members ?? []) + secrets))
    }

    /// The options of a provider of which nothing is said.
    package var defaultOptions: JSONValue {
        var problems = DocumentProblems()
        return options(options(in: [:], at: JSONPointer(), problems: &problems)) { _ in nil }
    }
}
