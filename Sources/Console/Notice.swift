import Pages

/// A message about a completed action, shown by the next page.
///
/// The page's URL names one of a closed list, so nobody can put another text there.
enum Notice: String {
    case saved, made, applied, declared, dropped, renamed, revoked, ended, removed, enrolled
    case roleGiven, roleTaken, roleChanged, rolledBack
    case disabled, enabled, signedOut, refreshed, mailed, unlinked, erased
    case userMade, userMadeAndMailed

    /// The query parameter with the notice.
    static let field = "done"

    private var text: HTML {
        switch self {
        case .saved: "Saved."
        case .made: "The application is made. These steps lead to its first login."
        case .applied: "The document is applied."
        case .declared: "The property is declared."
        case .dropped: "The property is dropped, with all its values."
        case .renamed: "The key is renamed."
        case .revoked: "Revoked."
        case .ended: "The session is ended."
        case .removed: "Removed."
        case .enrolled: "The second factor is enrolled."
        case .roleGiven: "The role is given."
        case .roleTaken: "The role is taken away."
        case .roleChanged: "The role is changed."
        case .rolledBack: "The mapping is as it was in that revision, as a new revision."
        case .disabled: "The account is disabled."
        case .enabled: "The account is enabled."
        case .signedOut: "All sessions are ended."
        case .refreshed: "The provider was asked; this is what it says now."
        case .mailed: "A mail is on its way."
        case .unlinked: "The identity is unlinked."
        case .erased: "The person is erased for good."
        case .userMade: "The user is made."
        case .userMadeAndMailed: "The user is made, and a mail with a link to choose a password is on its way."
        }
    }

    var html: HTML { .notice(text) }

    /// Returns the URL of a page that shows the notice.
    func path(_ path: String) -> String {
        "\(path)\(path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")\(Self.field)=\(rawValue)"
    }
}
