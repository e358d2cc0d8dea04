package import Description
package import Domain
package import Encodings

/// A secret option of a provider.
///
/// An operator can write it but never read it.
package struct SecretOption: Sendable {
    /// The description of the option in documents and pages.
    package let field: FieldDescription
    /// The name of the option within a sentence, such as "the verify token".
    package let title: String
    /// The suffix of the environment variable that stands for the option in an exported document.
    package let variable: String
    /// The rule as a regular expression for the whole text (ECMA-262), for JSON Schema.
    package let pattern: String
    /// Returns what is wrong with a secret, as the end of a sentence such as "must be …"; nil if it is valid.
    private let rule: @Sendable (Secret) -> String?

    /// Creates the description of a secret option that is one line of visible ASCII.
    ///
    /// - Parameters:
    ///   - name: The name of the option.
    ///   - label: The display name.
    ///   - meaning: The purpose of the secret, in whole sentences.
    ///   - title: The name of the secret within a sentence.
    ///   - variable: The suffix of the environment variable.
    ///   - bytes: The allowed sizes in bytes.
    package init(
        name: String,
        _ label: String,
        _ meaning: String,
        title: String,
        variable: String,
        bytes: ClosedRange<Int>
    ) {
        let pattern = "^[!-~]{\(bytes.lowerBound),\(bytes.upperBound)}$"
        self.init(name: name, label, meaning, title: title, variable: variable, pattern: pattern) {
            $0.problem(bytes: bytes)
        }
    }

    /// Creates the description of a secret option with a rule of its own.
    package init(
        name: String,
        _ label: String,
        _ meaning: String,
        title: String,
        variable: String,
        pattern: String,
        rule: @escaping @Sendable (Secret) -> String?
    ) {
        field = FieldDescription(name: name, title: label, meaning: meaning, shape: .secret, defaultValue: .null)
        (self.title, self.variable, self.pattern, self.rule) = (title, variable, pattern, rule)
    }

    package var name: String { field.name }

    /// Returns a text for operators that says what is wrong with a secret; nil if the secret is valid.
    package func problem(of secret: Secret, from source: String = "") -> String? {
        rule(secret).map { "\(title + source) \($0)" }
    }
}

extension Secret {
    /// Returns what is wrong with the secret; nil if it is valid.
    ///
    /// Requests contain the secret in a header or a form, so only visible ASCII characters are allowed.
    package func problem(as title: String, bytes: ClosedRange<Int>) -> String? {
        problem(bytes: bytes).map { "\(title) \($0)" }
    }

    fileprivate func problem(bytes: ClosedRange<Int>) -> String? {
        let isVisible = reveal().utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard !isVisible || !bytes.contains(byteCount) else { return nil }
        return
            "must be \(bytes.lowerBound) to \(bytes.upperBound) visible ASCII characters without spaces"
    }
}

extension ProviderKind {
    /// The names of all options, including secret ones.
    package var allOptionNames: [String] { optionShape.names + secretOptions.map(\.name) }

    /// Returns the options together with the secret options, which follow them.
    ///
    /// An absent secret is `null`.
    package func options(_ options: JSONValue, with secrets: (SecretOption) -> JSONValue?) -> JSONValue {
        let secrets = secretOptions.map { JSONObject.Member($0.name, secrets($0) ?? .null) }
        return .object(JSONObject((options.object?.members ?? []) + secrets))
    }

    /// The options of a provider, each with its default.
    package var defaultOptions: JSONValue {
        var problems = DocumentProblems()
        return options(options(in: [:], at: JSONPointer(), problems: &problems)) { _ in nil }
    }
}
