package import Vocabulary

/// What a property does not get from a profile that has it, since it does not fit; holds no part of the value.
package struct Omission: Sendable, Equatable {
    /// The raw value is the word of previews and of the log.
    package enum Reason: String, Sendable, CaseIterable {
        case tooLong
        case controlCharacters
        case notAnEmail
        case notAURL
        /// It carries a token or a secret.
        case credential
    }

    package let property: PropertyName
    /// Where it stands in the profile, or the entry's template.
    package let field: String
    package let reason: Reason

    /// As logs write it.
    package var text: String { "\(property) \(reason.rawValue)" }
}

extension Omission.Reason {
    /// Behind "since".
    var words: String {
        switch self {
        case .tooLong: "it is too long"
        case .controlCharacters: "it has control characters"
        case .notAnEmail: "it is no e-mail address"
        case .notAURL: "it is no address that begins with http or https and names a host and no user"
        case .credential: "it carries a token or a secret"
        }
    }
}
