package import Vocabulary
package import Logging
import Store

extension Federation {
    /// Opens a session of a user for a server, which has no credential of theirs.
    ///
    /// Nobody has shown who they are: what needs that needs more than this session.
    ///
    /// - Throws: `object_login_forbidden` without a server's key, `not_found`, `account_disabled`, `email_unconfirmed`.
    package func logIn(
        as id: ObjectID?,
        by server: ServerCaller?,
        previousToken: SessionToken?,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> SignedIn {
        let key = server.map { ["key": "\($0.actor.name)"] as Logger.Metadata } ?? [:]
        return try await logging("server login", of: loaded, logger, with: key, user: \.user.objectID) {
            () throws(Failure) in
            guard server != nil else {
                throw Failure(
                    .objectLoginForbidden,
                    "Login by objectId is for servers only, with an API key of theirs."
                )
            }
            guard let id else { throw .noSuchUser }
            let token = SessionToken(random: Random.bytes(32))
            return try await withCurrent(loaded) { (loaded) throws(Failure) in
                let session = PasswordSession(
                    user: id,
                    verifiedHash: nil,
                    login: id.description,
                    tokenHash: token.hash,
                    previousTokenHash: previousToken?.hash
                )
                guard let user = try await store.openPasswordSession(session, of: loaded.application) else {
                    throw .noSuchUser
                }
                return SignedIn(user: user, token: token, created: false, missingPermissions: [])
            }
        }
    }
}
