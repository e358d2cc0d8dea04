package import Domain

/// A user after a client has written the record.
package struct WrittenUser: Sendable {
    package let user: User
    /// The receiver of the response.
    package let viewer: Viewer
    /// Names of sent values that were not written: clients may not write them, or the application drops them.
    package let ignored: [String]
}
