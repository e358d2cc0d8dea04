// Applications — the configuration of every application, in memory, in the form that logins use.
//
// This module owns:
//
// - the copy of the configuration, and the times of its reads,
// - an application with its providers, mappings, keys and settings as values,
// - the plan of a login,
// - counters and limits of whole use cases,
// - the form of log lines about use cases.
//
// It must not know any use case, HTTP, or any provider beyond its kind and capabilities.

package import Domain
import Encodings
package import Store

extension Application {
    /// Returns the roles of a user: first a system role, which depends on the user's status, then the roles in `given`.
    ///
    /// An operator or a server gave the user these roles. A role that the application no longer has is left out.
    package func roles(of user: User, given: [String]) -> [String] {
        let known = given.filter { role in settings.roles.contains { $0.hasSameBytes(as: role) } }
        return [SystemRole(of: user.status).rawValue] + known
    }

    /// Returns the role that has a given name, for a search of the users who have the role.
    ///
    /// It is a system role or a role of the application.
    package func role(_ name: String) throws(Failure) -> RoleHolders {
        if let system = SystemRole(name: name) { return .system(system) }
        guard let role = settings.roles.first(where: { $0.hasSameBytes(as: name) }) else {
            throw Failure(
                .roleUnknown,
                "This application does not have this role. The operator can add it to the setting roles."
            )
        }
        return .given(role)
    }

    /// Returns a role that operators and servers can give and remove, after a check of its name.
    ///
    /// - Parameters:
    ///   - name: The name of the role.
    ///   - isGiven: Whether the role is to be given or to be removed, for the error.
    /// - Returns: The name of the role.
    /// - Throws: `role_unknown`; for a system role, `role_fixed` if it is to be given, `role_permanent` otherwise.
    package func role(_ name: String, thatIsGiven isGiven: Bool) throws(Failure) -> String {
        guard case .given(let role) = try role(name) else {
            throw Failure(
                isGiven ? .roleFixed : .rolePermanent,
                "This is a system role. It cannot be assigned or removed."
            )
        }
        return role
    }
}

extension Application {
    /// Returns the change that disables a user or enables a user again; nil when there is nothing to change.
    ///
    /// If a disabled user had to confirm the e-mail address before the first login, the user must still confirm it
    /// after being enabled. If a user who is not disabled must confirm the address, enabling the user replaces the
    /// confirmation: the operator is responsible for the address. A guest who is not disabled stays a guest.
    package func change(of stored: StoredUser, to status: UserStatus) -> UserChange? {
        switch (stored.user.status, status) {
        case (.guest, .enabled): nil
        case (.disabled, .enabled) where waitsForConfirmation(stored): .setStatus(.emailConfirmationPending)
        case (.disabled, .enabled) where isGuest(stored): .setStatus(.guest)
        default: .setStatus(status)
        }
    }

    private func waitsForConfirmation(_ stored: StoredUser) -> Bool {
        settings.registration.confirmEmail && !stored.user.emailVerified && stored.password != nil
            && stored.identities.isEmpty && stored.user.lastLogin == nil
    }

    private func isGuest(_ stored: StoredUser) -> Bool {
        stored.loginMethods == 0 && stored.user.socialAccount?.hasSameBytes(as: Store.ownAccount) ?? false
    }
}

extension Application {
    /// Creates an application from its stored form, without its providers, for operators.
    ///
    /// Operators' requests need no secrets of providers; only logins do.
    ///
    /// - Throws: `internal` when the settings cannot be read. Only a change of the database outside this service causes
    ///   this.
    package init(_ stored: StoredApplication) throws(Failure) {
        let settings: ApplicationSettings
        do { settings = try SettingsDocument.parse(stored: stored.settings) } catch {
            throw Failure(.internal, "The settings of this application cannot be read.", cause: "\(error)")
        }
        self.init(
            id: stored.id,
            name: stored.name,
            schema: stored.schema,
            database: stored.database,
            revision: stored.revision,
            settings: settings,
            properties: stored.properties
        )
    }
}
