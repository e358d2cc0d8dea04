package import Description
package import Domain
package import Encodings

/// A secret option of a provider: written and never read, like an app's secret.
package struct SecretOption: Sendable {
    /// The description of the option in documents and pages.
    package let field: FieldDescription
    /// The term for the option within a sentence.
    package let title: String
    /// The suffix of its environment variable in an exported document.
    package let variable: String
    /// The allowed sizes in bytes.
    package let bytes: ClosedRange<Int>

    /// Creates an option.
    ///
    /// - Parameters:
    ///   - name: The name among the options.
    ///   - label: The display name.
    ///   - meaning: The purpose of the secret, in whole sentences.
    ///   - title: The term for the secret within a sentence.
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

    /// Returns what is wrong with a secret, as a text for operators; nil when it is valid.
    package func problem(of secret: Secret, from source: String = "") -> String? {
        secret.problem(as: title + source, bytes: bytes)
    }
}

extension Secret {
    /// Returns what is wrong with a secret that is sent in headers and forms; nil when it is valid.
    package func problem(as title: String, bytes: ClosedRange<Int>) -> String? {
        let isVisible = reveal().utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard !isVisible || !bytes.contains(byteCount) else { return nil }
        return
            "\(title) must be \(bytes.lowerBound) to \(bytes.upperBound) visible ASCII characters without spaces"
    }
}

extension ProviderKind {
    /// The names of all options, secret or not.
    package var allOptionNames: [String] { optionShape.names + secretOptions.map(\.name) }

    /// Returns all options, the secret ones behind the others; an absent secret is `null`.
    package func options(_ options: JSONValue, with secrets: (SecretOption) -> JSONValue?) -> JSONValue {
        let secrets = secretOptions.map { JSONObject.Member($0.name, secrets($0) ?? .null) }
        return .object(JSONObject((options.object?.members ?? []) + secrets))
    }

    /// The options of a provider with all defaults.
    package var defaultOptions: JSONValue {
        var problems = DocumentProblems()
        return options(options(in: [:], at: JSONPointer(), problems: &problems)) { _ in nil }
    }
}
