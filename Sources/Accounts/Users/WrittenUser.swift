package import Domain
import Store

/// A user after a client's request has been written, and the names of the values that were ignored.
package struct WrittenUser: Sendable {
    package let user: User
    /// The viewer who gets the response: the user themselves, another user, or a server.
    package let viewer: Viewer
    /// The names of sent values that were not written: clients may not write them, or the application drops them.
    package let ignored: [String]
    /// The password with which the user has just registered; nil after any other write.
    var password: StoredPassword?
}
