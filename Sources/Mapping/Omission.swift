package import Domain

/// A value of a profile that was left out, since it does not fit.
///
/// The property does not get the value, and no part of the value is stored.
package struct Omission: Sendable, Equatable {
    /// The reason; the raw value is the word in previews and the log.
    package enum Reason: String, Sendable, CaseIterable {
        case tooLong
        case controlCharacters
        case notAnEmail
        case notAURL
        /// The value contains a token or a secret.
        case credential
    }

    package let property: PropertyName
    /// The path of the value in the profile, or the template of the mapping entry.
    package let field: String
    package let reason: Reason

    /// The omission as a text for the log.
    package var text: String { "\(property) \(reason.rawValue)" }
}

extension Omission.Reason {
    /// The reason as words that follow "because" in a message.
    var words: String {
        switch self {
        case .tooLong: "it is too long"
        case .controlCharacters: "it has control characters"
        case .notAnEmail: "it is not an e-mail address"
        case .notAURL: "it is not an http or https URL with a host and without a user name"
        case .credential: "it contains a token or a secret"
        }
    }
}
