package import Applications
package import Domain
package import Logging
package import Logins
import Store

/// Logs in the users for whom a backend of the application has signed a token.
package struct BackendLogins: Sendable {
    let store: Store
    let serverLogin: ServerLogin
    let records: OtherRecords

    /// Logs in the user with a uid.
    ///
    /// An unknown uid creates a user.
    ///
    /// As at every login by a server, the user has shown no credential: operations that require a recent authentication
    /// refuse the session.
    ///
    /// - Parameters:
    ///   - uid: The uid of the user, 1 to 128 bytes.
    ///   - claims: The claims of the session's tokens, as JSON text; nil for none.
    ///   - server: The backend whose token was verified.
    ///   - client: The client.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Returns: The user and the session.
    /// - Throws: `account_disabled`, `email_unconfirmed`, `property_missing` and similar errors.
    package func logIn(
        uid: String,
        claims: String?,
        by server: ServerCaller,
        client: LoginClient,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
        let found = try await user(uid, in: loaded)
        let (user, isNew) = if let found { (found, false) } else { try await make(uid, by: server, in: loaded, logger) }
        return try await serverLogin.logIn(
            as: user,
            by: server,
            on: .serverToken(claims: claims),
            isNew: isNew,
            previousSession: nil,
            usesRefreshTokens: client.usesRefreshTokens,
            to: loaded,
            logger: logger
        )
    }

    /// Returns the user with a uid.
    ///
    /// The object id of a merged user leads to the survivor of the merge.
    private func user(_ uid: String, in loaded: LoadedApplication) async throws(Failure) -> ObjectID? {
        if let found = try await store.user(ofUID: uid, in: loaded.application) { return found }
        guard let former = ObjectID(uid) else { return nil }
        return try await store.survivor(of: former, in: loaded.application)
    }

    private func make(
        _ uid: String,
        by server: ServerCaller,
        in loaded: LoadedApplication,
        _ logger: Logger
    ) async throws(Failure) -> (user: ObjectID, isNew: Bool) {
        var record = UserRecord()
        record.uid = uid
        do throws(Failure) {
            let made = try await records.create([record], by: server, in: loaded, logger: logger)
            guard let user = made.first?.user.objectID else { throw .noSuchUser }
            return (user, true)
        } catch {
            // Another login of the same new user may have created it meanwhile.
            guard error.reason == .conflict, let found = try await user(uid, in: loaded) else { throw error }
            return (found, false)
        }
    }
}
