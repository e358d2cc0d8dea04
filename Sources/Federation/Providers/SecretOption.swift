import Vocabulary
import Store

/// An option of a provider that is a secret as an app's secret is one: written, never read.
struct SecretOption: Sendable {
    /// Its name among the options.
    let name: String
    /// What it is called in a sentence.
    let title: String
    /// How the environment variable for it ends in an exported document.
    let variable: String
    /// How many bytes it may have.
    let bytes: ClosedRange<Int>

    /// What is wrong with a text, for people; nil when nothing is.
    func problem(of secret: Secret, from source: String = "") -> String? {
        secret.problem(as: title + source, bytes: bytes)
    }
}

extension Secret {
    /// What is wrong with a secret that is sent in headers and forms, for people; nil when nothing is.
    func problem(as title: String, bytes: ClosedRange<Int>) -> String? {
        let isVisible = reveal().utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard !isVisible || !bytes.contains(byteCount) else { return nil }
        return
            "\(title) must be \(bytes.lowerBound) to \(bytes.upperBound) visible ASCII characters without spaces"
    }
}

extension IdentityProvider {
    static var allOptionNames: [String] { optionNames + secretOptions.map(\.name) }

    /// All options: the secret ones behind the others, `null` where there is none.
    static func options(_ options: JSONValue, with secrets: (SecretOption) -> JSONValue?) -> JSONValue {
        let secrets = secretOptions.map { JSONObject.Member($0.name, secrets($0) ?? .null) }
        return .object(JSONObject((options.object?.members ?? []) + secrets))
    }

    /// The members of stored options, with what the closure makes of each secret that is there in its place.
    static func members<Problem>(
        of options: JSONValue,
        replacingSecrets replacement: (SecretOption, StoredSecretOption) throws(Problem) -> JSONValue
    ) throws(Problem) -> [JSONObject.Member] {
        var members: [JSONObject.Member] = []
        for member in options.object?.members ?? [] {
            guard let option = secretOptions.first(where: { $0.name.hasSameBytes(as: member.key) }),
                let stored = StoredSecretOption(member.value)
            else {
                members.append(member)
                continue
            }
            members.append(JSONObject.Member(member.key, try replacement(option, stored)))
        }
        return members
    }
}
