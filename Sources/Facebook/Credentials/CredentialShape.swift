import Vocabulary

/// What a token looks like, before anybody is asked about it (docs/protocols/facebook.md §4.6).
///
/// Apps send the wrong one of several tokens often enough that each kind deserves its own answer. The shape decides which way
/// a token goes; one kind is never tried as another.
package enum CredentialShape: Sendable, Equatable, CaseIterable {
    /// `EAA…`: an access token for Graph.
    case graphToken
    /// Segments with dots between them, the first beginning with `{` in base64url: a signed ID token, or what was to look like one.
    case idToken
    /// Holds a `|`: an app token (`id|secret`), a client token, or a user token of a format given up long ago.
    case appOrClientToken
    /// Anything else. The placeholder that the iOS SDK hands out when tracking is denied looks like this, and so would a
    /// format that Facebook brings up tomorrow; hence Graph is asked, and its word decides.
    case unknown

    /// Looks at the bytes; linear in their number.
    package init(of token: String) {
        let bytes = Array(token.utf8)
        if bytes.contains(UInt8(ascii: "|")) {
            self = .appOrClientToken
        } else if Self.beginsLikeSignedToken(bytes) {
            self = .idToken
        } else if bytes.starts(with: "EAA".utf8) {
            self = .graphToken
        } else {
            self = .unknown
        }
    }

    /// Whether it has a dot and begins as JSON does.
    ///
    /// A header that is a JSON object begins with `{`, whose six high bits are the letter `e`, and whose two low bits leave
    /// the second letter to the last quarter of the alphabet. What begins like that and is no ID token is refused as one, and never
    /// sent to Graph.
    private static func beginsLikeSignedToken(_ bytes: [UInt8]) -> Bool {
        guard bytes.first == UInt8(ascii: "e"), let second = bytes.dropFirst().first else { return false }
        return "wxyz0123456789-_".utf8.contains(second) && bytes.contains(UInt8(ascii: "."))
    }
}
