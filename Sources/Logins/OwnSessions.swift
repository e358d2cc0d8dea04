package import Applications
package import Domain
import Encodings
import Store

extension Sessions {
    /// Returns the live sessions of the user: first the session of the request, then the others from the newest to the
    /// oldest.
    ///
    /// If the log of logins still contains the login that opened a session, the result has the network address and the
    /// user agent of that login.
    package func sessions(
        ofSession token: SessionKey?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [OwnSession] {
        let (user, token) = try await session(of: token, in: loaded)
        let application = loaded.application
        let sessions = try await store.ownSessions(of: user.objectID, asking: token.hash, in: application)
        return await store.locating(sessions, of: user.objectID, in: application.id)
    }

    /// Ends all sessions of the user except the session of the request.
    ///
    /// - Returns: The number of ended sessions.
    package func endOtherSessions(
        ofSession token: SessionKey?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Int {
        let (user, token) = try await session(of: token, in: loaded)
        return try await store.endOtherSessions(of: user.objectID, keeping: token.hash, in: loaded.application)
    }

    /// Ends one session of the user.
    ///
    /// It may be the session of the request.
    ///
    /// - Throws: `not_found` for every session of another user, whether it exists or not (T-117).
    package func endSession(
        _ id: String,
        ofSession token: SessionKey?,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        let user = try await user(of: token, in: loaded)
        guard id.utf8.count == 32, id.utf8.allSatisfy({ Hexadecimal.value(of: $0) != nil }),
            try await store.endOwnSession(id, of: user.objectID, in: loaded.application)
        else {
            throw Failure(.notFound, "This session does not exist or belongs to another user.")
        }
    }
}
