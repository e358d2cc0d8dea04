package import Domain
package import Encodings
package import Passwords

/// Users of Firebase in one request of a backend.
package struct GivenUsers: Sendable {
    /// The records, as Firebase exports them.
    package let records: [JSONObject]
    /// How the passwords were hashed; nil if no record has a hash.
    package let hashing: FirebaseHashing?

    package init(records: [JSONObject], hashing: FirebaseHashing?) {
        self.records = records
        self.hashing = hashing
    }
}

/// Imports a backend's users into an application, as an operator imports a file.
///
/// A user with a known uid stays unchanged. The result has the position of each refused record, with the reason. After
/// an error, the batches stored before it stay.
package typealias ImportingUsers =
    @Sendable (GivenUsers, ApplicationID, ChangeAuthor) async throws(Failure) -> [(
        index: Int, message: String
    )]
