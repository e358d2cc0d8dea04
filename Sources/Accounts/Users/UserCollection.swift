package import Applications
package import Logins
package import Store
package import Vocabulary

/// Who asks the users collection, and may.
package struct CollectionCaller: Sendable {
    /// The server that calls; nil for a user.
    let server: ServerCaller?
    /// Whether the roles of others are told.
    let seesRoles: Bool
    /// By what the caller searches, for the audit log.
    let means: String
    /// What the caller sees of users, the own record aside.
    package var viewer: Viewer { server == nil ? .other : .server }
}

/// The users of an application as a collection that is asked.
///
/// Users see their own record, and of others what the application lets them; servers see all of them, and the audit log
/// has it.
package struct UserCollection: Sendable {
    let store: Store
    let searches: UserSearches
    let sessions: Sessions

    package init(store: Store, searches: UserSearches, sessions: Sessions) {
        self.store = store
        self.searches = searches
        self.sessions = sessions
    }

    /// Who may search the users.
    ///
    /// - Throws: `session_invalid`, `query_forbidden`.
    package func searcher(
        token: SessionToken?,
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
                    ? "This user may not search others: the operator decides who may."
                    : "Users are searched with a server's API key only, unless the operator lets users search others."
            )
        }
        return CollectionCaller(server: nil, seesRoles: false, means: "query")
    }

    /// Who may search the users by their roles.
    ///
    /// - Throws: `server_key_required` without a server's key where clients may not ask.
    package func roleSearcher(
        server: ServerCaller?,
        in loaded: LoadedApplication
    ) throws(Failure) -> CollectionCaller {
        guard server != nil || loaded.application.settings.clientKeys.contains(.findByRole) else {
            throw .serverKeyRequired
        }
        return CollectionCaller(server: server, seesRoles: true, means: "role")
    }

    /// The users that a query is about, each with its roles if they are wanted.
    ///
    /// - Throws: `query_forbidden` for roles without a server's key.
    package func find(
        _ query: UserQuery,
        withRoles: Bool = false,
        for caller: CollectionCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [(user: User, roles: [String]?)] {
        guard !withRoles || caller.seesRoles else {
            throw Failure(.queryForbidden, "The roles of others are told to servers only: leave loadRoles out.")
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

    /// How many users a filter holds of.
    package func count(
        _ filter: UserFilter?,
        for caller: CollectionCaller,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Int64 {
        let count = try await searches.userCount(matching: filter, of: loaded.application)
        try await record(nil, found: count, by: caller, in: loaded)
        return count
    }

    /// One user, and as whom the caller sees it: the session's own, another's if the application lets it, or any when a
    /// server asks.
    ///
    /// - Throws: `session_invalid`; `not_found`, which for those who may not read others says the same of every id,
    ///   whether it exists or not (T-117).
    package func user(
        _ id: ObjectID?,
        token: SessionToken?,
        server: ServerCaller?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (user: User, viewer: Viewer) {
        if let server {
            guard let id, let person = try await store.person(id, of: loaded.application) else { throw .noSuchUser }
            try await store.recordReading(.read, of: id, in: loaded.application.id, by: server.actor)
            return (person.user, .server)
        }
        let user = try await sessions.user(of: token, in: loaded)
        if id == user.objectID { return (user, .owner) }
        // Read by its key it waits for no search.
        guard let id, try await has(.readOthers, user, in: loaded),
            let other = try await store.person(id, of: loaded.application)?.user
        else { throw .notOwnUser(user) }
        return (other, .other)
    }

    /// Whether the application gives a user a right; which roles the user has is looked up only where it matters.
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
