/// A record of a file of identities: a user of this service, and the identity that the import adds to the user.
package struct IdentityPair: Sendable {
    /// How the record names the user.
    package enum User: Sendable {
        case id(ObjectID)
        case email(EmailAddress)
    }

    /// The number of the record in the file.
    package let record: Int
    /// The line of the file on which the record begins.
    package let line: Int
    package let user: User
    package let identity: IdentityKey

    package init(record: Int, line: Int, user: User, identity: IdentityKey) {
        self.record = record
        self.line = line
        self.user = user
        self.identity = identity
    }
}
