/// What a link of a mail is for.
package enum EmailTokenPurpose: String, Sendable {
    case passwordReset
    case confirmation
    /// Takes back what has become of an account, for whoever reads the mail of the address that it had before.
    case reversal

    /// Seconds around a change of an account within which what is done to it is suspected, too: identities that were
    /// linked so long before it go when it is undone, and for so long after it notices go to both addresses.
    package static let suspicionSeconds = 259_200

    /// The last segment of the path of the page that it leads to.
    package var page: String {
        switch self {
        case .passwordReset: "reset-password"
        case .confirmation: "confirm-email"
        case .reversal: "undo-change"
        }
    }

    /// Seconds for which such a link counts.
    package var seconds: Int {
        switch self {
        case .passwordReset: 1800
        case .confirmation: 172_800
        case .reversal: 604_800
        }
    }
}
