/// What a link of a mail is for.
package enum EmailProofPurpose: String, Sendable {
    case passwordReset
    case confirmation

    /// The last segment of the path of the page that it leads to.
    package var page: String {
        switch self {
        case .passwordReset: "reset-password"
        case .confirmation: "confirm-email"
        }
    }
}
