package import Vocabulary

/// A user as a client has written one.
package struct WrittenUser: Sendable {
    package let user: User
    /// For whom the reply is.
    package let viewer: Viewer
    /// Names of what the client gave and the user does not have: what is not open to clients, and what was dropped.
    package let ignored: [String]
}
