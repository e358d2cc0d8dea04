import Applications
import Store
package import Vocabulary

/// Bans of people whose user was deleted.
package struct BanAdministration: Sendable {
    let store: Store
    let changes: ApplicationChanges

    /// Bytes of what is kept of an identity, by which a page of bans goes on.
    private static let hashSize = 32

    /// `{"objectId", "created", "expires"}` for each identity that is banned although its user is gone, or has lost it;
    /// nothing tells whose it is.
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

    /// Lets the identities of a user who is gone log in again, as somebody new.
    ///
    /// - Throws: `not_found` when none of them is banned.
    package func lift(of id: String, in application: String, by actor: Actor) async throws(Failure) {
        let owner = try Application(try await changes.existing(application))
        guard let user = ObjectID(id), try await store.liftBans(of: user, in: owner, by: actor) > 0 else {
            throw Failure(.notFound, "This application keeps no ban of such a user, or it has ended.")
        }
    }
}
