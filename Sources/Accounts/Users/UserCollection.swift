package import Applications
package import Domain
import Encodings
import Logins
import Store

/// A server or a user who may search the application's users.
package struct CollectionCaller: Sendable {
    /// The server that makes the request; nil for a user.
    let server: ServerCaller?
    /// Whether the results contain the roles of other users.
    let seesRoles: Bool
    /// The kind of search, such as `role`, for the audit log.
    let means: String
    /// Who sees the records of other users in the results: a server, or another user.
    ///
    /// If the results contain the record of the user who searches, that record is shown as to its owner all the same.
    package var viewer: Viewer { server == nil ? .other : .server }
}

/// Searches the users of an application.
///
/// Both users and servers may search. A user sees their own record, and those parts of other records that the
/// application allows. Servers see all users, and the audit log records each of their requests.
package struct UserCollection: Sendable {
    let store: Store
    let searches: UserSearches
    let sessions: Sessions

    /// Checks that a client or a server may search the users.
    ///
    /// - Throws: `session_invalid`, `query_forbidden`.
    package func searcher(
        token: SessionKey?,
        server: ServerCaller?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> CollectionCaller {
        if server != nil { return CollectionCaller(server: server, seesRoles: true, means: "query") }
        let isOpen = !loaded.application.settings.collection[.find].isEmpty
        guard isOpen, let token, try await has(.find, try await sessions.user(of: token, in: loaded), in: loaded)
        else {
            throw Failure(
                .queryForbidden,
                isOpen
                    ? "This user has no right to search other users."
                    : "Only a server key can search users, unless the operator gives users this right."
            )
        }
        return CollectionCaller(server: nil, seesRoles: false, means: "query")
    }

    /// Checks that a client or a server may search the users by their roles.
    ///
    /// - Throws: `server_key_required` if clients may not search by role, and the request has no server's API key.
    package func roleSearcher(
        server: ServerCaller?,
        in loaded: LoadedApplication
    ) throws(Failure) -> CollectionCaller {
        guard server != nil || loaded.application.settings.apiKeyRights.contains(.findByRole) else {
            throw .serverKeyRequired
        }
        return CollectionCaller(server: server, seesRoles: true, means: "role")
    }

    /// Returns the users that match a query, each with its roles if requested.
    ///
    /// - Throws: `query_forbidden` if a client requests the roles and may not see the roles of other users.
    package func find(
        _ query: UserQuery,
        withRoles: Bool = false,
        for caller: CollectionCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [(user: User, roles: [String]?)] {
        guard !withRoles || caller.seesRoles else {
            throw Failure(.queryForbidden, "Only servers can read the roles of other users. Leave loadRoles out.")
        }
        let application = loaded.application
        let users = try await searches.users(matching: query, of: application)
        try await record(
            users.count == 1 ? users.first?.objectID : nil,
            found: Int64(users.count),
            by: caller,
            in: loaded
        )
        guard withRoles else { return users.map { ($0, nil) } }
        let given = try await store.roles(of: users.map(\.objectID), in: application)
        return zip(users, given).map { ($0, application.roles(of: $0, given: $1)) }
    }

    /// Returns the number of users that match a filter.
    package func count(
        _ filter: UserFilter?,
        for caller: CollectionCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Int64 {
        let count = try await searches.userCount(matching: filter, of: loaded.application)
        try await record(nil, found: count, by: caller, in: loaded)
        return count
    }

    /// Returns one user, and how the requester is related to that user: as a server, as the user or as another user.
    ///
    /// A client reads the user of its session, and another user if the application allows it. A server reads any user.
    ///
    /// - Throws: `session_invalid`; `not_found`. Without the right to read others, the error is the same for every id,
    ///   whether it exists or not (T-117).
    package func user(
        _ id: ObjectID?,
        token: SessionKey?,
        server: ServerCaller?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (user: User, viewer: Viewer) {
        if let server {
            let stored = try await store.existingUser(id, of: loaded.application)
            try await store.recordReading(.read, of: stored.user.objectID, in: loaded.application.id, by: server.actor)
            return (stored.user, .server)
        }
        let user = try await sessions.user(of: token, in: loaded)
        if id == user.objectID { return (user, .owner) }
        // A read by primary key does not wait for searches.
        guard let id, try await has(.readOthers, user, in: loaded),
            let other = try await store.storedUser(id, of: loaded.application)?.user
        else { throw .notOwnUser(user) }
        return (other, .other)
    }

    /// Returns whether the application gives a user a right, such as the right to search other users.
    ///
    /// Looks up the user's roles only if the right depends on them.
    package func has(
        _ right: CollectionRights.Right,
        _ user: User,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Bool {
        let grantees = loaded.application.settings.collection[right]
        guard !grantees.contains(user.status == .guest ? .guests : .users) else { return true }
        var roles: [String] = []
        for case .role(let role) in grantees { roles.append(role) }
        guard !roles.isEmpty else { return false }
        let given = try await store.roles(of: user.objectID, in: loaded.application)
        return given.contains { name in roles.contains { $0.hasSameBytes(as: name) } }
    }

    private func record(
        _ user: ObjectID?,
        found: Int64,
        by caller: CollectionCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        guard let server = caller.server else { return }
        try await store.recordReading(
            .search,
            of: user,
            ["by": .array([.string(caller.means)]), "found": .integer(found)],
            in: loaded.application.id,
            by: server.actor
        )
    }
}
