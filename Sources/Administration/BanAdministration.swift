import Applications
package import Domain
import Encodings
import Store

/// Lists and lifts bans of identities.
///
/// An identity is banned when it is removed from a disabled user, or deleted together with that user. A ban refuses
/// logins with the identity.
package struct BanAdministration: Sendable {
    let store: Store
    let changes: ApplicationChanges

    /// The length of an identity's hash in bytes.
    ///
    /// The hash is the cursor of a page of bans.
    private static let hashSize = 32

    /// Returns a page of the banned identities.
    ///
    /// An entry is `{"objectId", "created", "expires"}`. `objectId` is the id of the disabled user to whom the identity
    /// belonged. The entry does not reveal the identity itself.
    package func list(of application: String, _ page: PageRequest) async throws(Failure) -> Page {
        let owner = try Application(try await changes.existing(application))
        var after: [UInt8]?
        if let cursor = page.cursor {
            guard let hash = Hexadecimal.decode(cursor.utf8), hash.count == Self.hashSize else { throw .badCursor }
            after = hash
        }
        let bans = try await store.bans(of: owner, after: after, limit: page.limit + 1)
        return page.page(of: bans, cursor: { Hexadecimal.encode($0.hash) }) { ban in
            .object([
                "objectId": .string(ban.user.description), "created": .integer(ban.created),
                "expires": .integer(ban.expires),
            ])
        }
    }

    /// Lifts the bans of all identities that belonged to a user.
    ///
    /// A login with such an identity then creates a new user.
    ///
    /// - Throws: `not_found` when no identity of the user is banned.
    package func lift(of id: String, in application: String, by actor: ChangeAuthor) async throws(Failure) {
        let owner = try Application(try await changes.existing(application))
        guard let user = ObjectID(id), try await store.liftBans(of: user, in: owner, by: actor) > 0 else {
            throw Failure(.notFound, "This application has no ban of this user, or the ban has expired.")
        }
    }
}
