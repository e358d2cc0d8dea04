package import Applications
package import Logins
package import Store
package import Vocabulary

/// The users of an application as a collection that is asked.
///
/// Users see their own record; servers see all of them, and the audit log has it.
package struct UserCollection: Sendable {
    let store: Store
    let sessions: Sessions

    package init(store: Store, sessions: Sessions) {
        self.store = store
        self.sessions = sessions
    }

    /// The users that a query is about.
    ///
    /// - Throws: `query_forbidden` without a server's key.
    package func find(
        _ query: UserQuery,
        for server: ServerCaller?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [User] {
        let server = try Self.allowed(server)
        let users = try await store.users(matching: query, of: loaded.application)
        try await record(
            users.count == 1 ? users.first?.objectID : nil,
            found: Int64(users.count),
            by: server,
            in: loaded
        )
        return users
    }

    /// How many users a filter holds of.
    ///
    /// - Throws: `query_forbidden` without a server's key.
    package func count(
        _ filter: UserFilter?,
        for server: ServerCaller?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Int64 {
        let server = try Self.allowed(server)
        let count = try await store.userCount(matching: filter, of: loaded.application)
        try await record(nil, found: count, by: server, in: loaded)
        return count
    }

    /// One user: the session's own, or any when a server asks.
    ///
    /// - Throws: `not_found` for every other id, whether it exists or not (T-117); `session_invalid`.
    package func user(
        _ id: ObjectID?,
        token: SessionToken?,
        server: ServerCaller?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> User {
        guard let server else { return try await sessions.ownUser(id, token: token, in: loaded) }
        guard let id, let person = try await store.person(id, of: loaded.application) else { throw .noSuchUser }
        try await store.recordReading(.read, of: id, in: loaded.application.id, by: server.actor)
        return person.user
    }

    private static func allowed(_ server: ServerCaller?) throws(Failure) -> ServerCaller {
        guard let server else {
            throw Failure(.queryForbidden, "Users are searched with a server's API key only.")
        }
        return server
    }

    private func record(
        _ user: ObjectID?,
        found: Int64,
        by server: ServerCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        try await store.recordReading(
            .search,
            of: user,
            ["by": .array([.string("query")]), "found": .integer(found)],
            in: loaded.application.id,
            by: server.actor
        )
    }
}
