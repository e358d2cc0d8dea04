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
    /// The allowed sizes of the secret in bytes.
    package let bytes: ClosedRange<Int>

    /// Creates the description of a secret option.
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
        field = FieldDescription(name: name, title: label, meaning: meaning, shape: .secret, defaultValue: .null)
        (self.title, self.variable, self.bytes) = (title, variable, bytes)
    }

    package var name: String { field.name }

    /// Returns a text for operators that says what is wrong with a secret; nil if the secret is valid.
    package func problem(of secret: Secret, from source: String = "") -> String? {
        secret.problem(as: title + source, bytes: bytes)
    }
}

extension Secret {
    /// Returns what is wrong with the secret; nil if it is valid.
    ///
    /// Requests contain the secret in a header or a form, so only visible ASCII characters are allowed.
    package func problem(as title: String, bytes: ClosedRange<Int>) -> String? {
        let isVisible = reveal().utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard !isVisible || !bytes.contains(byteCount) else { return nil }
        return
            "\(title) must be \(bytes.lowerBound) to \(bytes.upperBound) visible ASCII characters without spaces"
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
