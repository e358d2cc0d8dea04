import Pages

/// A message about a completed action, which the next page shows.
///
/// The URL of that page contains only the name of one of these messages. So no link can make the page show another
/// text.
enum Notice: String {
    case saved, savedWithWarnings, made, applied, declared, dropped, renamed, revoked, ended, removed, enrolled
    case roleGiven, roleTaken, roleChanged, rolledBack
    case disabled, enabled, signedOut, refreshed, mailed, unlinked, erased
    case userMade, userMadeAndMailed, merged, unmerged

    /// The name of the query parameter with the name of the message.
    static let field = "done"

    private var text: HTML {
        switch self {
        case .saved: "Saved."
        case .savedWithWarnings: "Saved, with warnings about the properties marked below."
        case .made: "The application is created. The next steps lead to its first login."
        case .applied: "The document is applied."
        case .declared: "The property is declared."
        case .dropped: "The property and all its values are deleted."
        case .renamed: "The key is renamed."
        case .revoked: "Revoked."
        case .ended: "The session is revoked."
        case .removed: "Removed."
        case .enrolled: "The second factor is enrolled."
        case .roleGiven: "The role is assigned."
        case .roleTaken: "The role is removed."
        case .roleChanged: "The role is changed."
        case .rolledBack: "The mapping is restored from that revision, as a new revision."
        case .disabled: "The account is disabled. All its sessions are revoked."
        case .enabled: "The account is enabled."
        case .signedOut: "All sessions are revoked."
        case .refreshed: "The profile was read again from the provider."
        case .mailed: "The mail is queued and will be sent shortly."
        case .unlinked: "The identity is unlinked."
        case .erased: "The user is erased."
        case .merged: "The other user is a part of this one now."
        case .unmerged: "The merge is undone. This user exists again."
        case .userMade: "The user is created."
        case .userMadeAndMailed: "The user is created. A mail with a link to choose a password will be sent shortly."
        }
    }

    var html: HTML {
        self == .savedWithWarnings ? "<p class=\"notice warn\" role=\"status\">\(text)</p>\n" : .notice(text)
    }

    /// Returns the URL of the page at a path, with a query that makes the page show this message.
    func path(_ path: String) -> String {
        "\(path)\(path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")\(Self.field)=\(rawValue)"
    }
}
