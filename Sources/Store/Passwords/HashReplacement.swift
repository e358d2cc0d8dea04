import FoundationEssentials
import Postgres
package import Vocabulary

extension Store {
    /// Puts a hash in the place of the one that it was made anew from; nothing happens when the password has been
    /// changed meanwhile.
    package func replaceHash(
        _ former: SealedSecret,
        of user: ObjectID,
        by hash: SealedSecret,
        in application: Application
    ) async throws(Failure) {
        _ = try await query(
            """
            update \(identifier: application.schema).passwords set hash = \(hash.bytes), hash_key_id = \(hash.keyID)
            where object_id = \(user.uuid) and hash = \(former.bytes)
            """,
            of: application
        )
    }
}
