package import Applications
import Store
package import Vocabulary

extension Sessions {
    /// The live sessions of the session's own user, the one that asks first and the others from the newest on, with
    /// where they were opened as far as the log of logins tells.
    package func sessions(
        ofSession token: SessionToken?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [OwnSession] {
        let (user, token) = try await session(of: token, in: loaded)
        let application = loaded.application
        let sessions = try await store.ownSessions(of: user.objectID, asking: token.hash, in: application)
        return await store.locating(sessions, of: user.objectID, in: application.id)
    }

    /// Ends all sessions of the user but the one that asks.
    ///
    /// - Returns: How many there were.
    package func endOtherSessions(
        ofSession token: SessionToken?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Int {
        let (user, token) = try await session(of: token, in: loaded)
        return try await store.endOtherSessions(of: user.objectID, keeping: token.hash, in: loaded.application)
    }

    /// Ends one session of the session's own user, which may be the one that asks.
    ///
    /// - Throws: `not_found` for every session that is not the user's, whether it exists or not (T-117).
    package func endSession(
        _ id: String,
        ofSession token: SessionToken?,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        let user = try await user(of: token, in: loaded)
        guard id.utf8.count == 32, id.utf8.allSatisfy({ Hexadecimal.value(of: $0) != nil }),
            try await store.endOwnSession(id, of: user.objectID, in: loaded.application)
        else {
            throw Failure(.notFound, "There is no such session, or it is not one of this user's.")
        }
    }
}
