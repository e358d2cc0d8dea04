package import Applications
package import Domain
import Logins
import Store

/// A client that is authenticated as a server: by a server's API key, or as a service account.
///
/// A server may act on any user of the application.
package struct ServerCaller: Sendable {
    package let actor: ChangeAuthor

    /// Recognizes a server by its API key; nil unless the key is a server's.
    package init?(key: APIKey?, source: String) {
        guard let key, key.isServer else { return nil }
        actor = ChangeAuthor(name: "key:\(key.label)", source: source)
    }

    /// The server of a service account, known by its access token or by a custom token that a client has sent.
    package init(account: ServiceAccount, source: String) {
        actor = ChangeAuthor(name: "service-account:\(account.name)", source: source)
    }
}

/// Returns and changes the roles of users, and disables and enables users for servers.
package struct Roles: Sendable {
    let store: Store
    let sessions: Sessions

    /// Returns the roles of the session's user: the system role, and the roles that an operator or a server has given.
    package func ownRoles(token: SessionKey?, in loaded: LoadedApplication) async throws(Failure) -> [String] {
        let user = try await sessions.user(of: token, in: loaded)
        let given = try await store.roles(of: user.objectID, in: loaded.application)
        return loaded.application.roles(of: user, given: given)
    }

    /// Returns the roles of a user.
    ///
    /// A client reads only the user of its session; a server reads any user.
    ///
    /// - Throws: For a client, `not_found` for every id that is not the session's user, whether it exists or not. For a
    ///   server, `not_found` for an unknown id.
    package func roles(
        of id: ObjectID?,
        token: SessionKey?,
        server: ServerCaller?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [String] {
        guard let server else {
            _ = try await sessions.ownUser(id, token: token, in: loaded)
            return try await ownRoles(token: token, in: loaded)
        }
        let stored = try await store.existingUser(id, of: loaded.application)
        try await store.recordReading(.read, of: stored.user.objectID, in: loaded.application.id, by: server.actor)
        return loaded.application.roles(of: stored.user, given: stored.roles)
    }

    /// Gives a role to a user, or takes it away; idempotent.
    ///
    /// - Parameters:
    ///   - role: A role of the application.
    ///   - identity: The user's id, or the login name of the user's password.
    ///   - isGiven: Whether the user shall have the role.
    ///   - server: The server that makes the request.
    ///   - loaded: The application.
    /// - Throws: `role_assignment_forbidden` if the request has no server's API key; `role_unknown`, `role_fixed` or
    ///   `role_permanent`, `not_found`.
    package func setRole(
        _ role: String,
        of identity: String,
        isGiven: Bool,
        by server: ServerCaller?,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        guard let server else {
            throw Failure(.roleAssignmentForbidden, "Only a server key can assign and remove roles.")
        }
        let application = loaded.application
        let role = try application.role(role, thatIsGiven: isGiven)
        var id = ObjectID(identity)
        if id == nil, let login = application.login(identity) {
            id = try await store.password(ofLogin: login.key, in: application)?.objectID
        }
        guard let id else { throw .noSuchUser }
        try await change(id, of: application, by: server) { _ in isGiven ? .giveRole(role) : .takeRole(role) }
    }

    /// Disables a user, which ends their sessions, or enables a user again.
    ///
    /// - Throws: `server_key_required` if the request has no server's API key; `not_found`.
    package func setStatus(
        _ status: UserStatus,
        of id: ObjectID?,
        by server: ServerCaller?,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        guard let server else { throw .serverKeyRequired }
        guard let id else { throw .noSuchUser }
        let application = loaded.application
        try await change(id, of: application, by: server) { application.change(of: $0, to: status) }
    }

    private func change(
        _ id: ObjectID,
        of application: Application,
        by server: ServerCaller,
        plan: @escaping @Sendable (StoredUser) -> UserChange?
    ) async throws(Failure) {
        do {
            _ = try await store.change(id, of: application, by: server.actor, plan: plan)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.internal, "The change could not be made.", cause: "\(error)")
        }
    }
}
