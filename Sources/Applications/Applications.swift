// Applications — the configuration of every application, in memory, in the form that logins use.
//
// It owns the copy of the configuration and the times of its reads; an application with its providers, mappings, keys
// and settings as values; the plan of a login; counters and limits of whole use cases; and the form of log lines about
// use cases.
//
// It must not know any use case, HTTP, or any provider beyond its kind and capabilities.

package import Domain
import Encodings
package import Store

extension Application {
    /// Returns the roles of a user; a given role counts as long as the application has it.
    package func roles(of user: User, given: [String]) -> [String] {
        let known = given.filter { role in settings.roles.contains { $0.hasSameBytes(as: role) } }
        return [SystemRole(of: user.status).rawValue] + known
    }

    /// Returns the role of a name.
    package func role(_ name: String) throws(Failure) -> RoleHolders {
        if let system = SystemRole(name: name) { return .system(system) }
        guard let role = settings.roles.first(where: { $0.hasSameBytes(as: name) }) else {
            throw Failure(
                .roleUnknown,
                "This application has no such role. Its operator can add it to the setting roles."
            )
        }
        return .given(role)
    }

    /// Returns the role of a name, if the role can be given and removed.
    ///
    /// - Throws: `role_unknown`; `role_fixed` or `role_permanent` for a system role.
    package func role(_ name: String, thatIsGiven isGiven: Bool) throws(Failure) -> String {
        guard case .given(let role) = try role(name) else {
            throw Failure(
                isGiven ? .roleFixed : .rolePermanent,
                "This role follows from what a user is. It can be neither given nor taken."
            )
        }
        return role
    }
}

extension Application {
    /// Returns the change that disables a user or enables a user again; nil when there is nothing to change.
    ///
    /// Enabling only reverses a disabling: a user who had not confirmed the address before the first login still has
    /// to. A user who waits for that confirmation and is not disabled is enabled, since the operator is responsible for
    /// the address. A guest who is not disabled needs no change.
    package func change(of person: StoredPerson, to status: UserStatus) -> PersonChange? {
        switch (person.user.status, status) {
        case (.guest, .enabled): nil
        case (.disabled, .enabled) where waitsForConfirmation(person): .setStatus(.emailConfirmationPending)
        case (.disabled, .enabled) where isGuest(person): .setStatus(.guest)
        default: .setStatus(status)
        }
    }

    private func waitsForConfirmation(_ person: StoredPerson) -> Bool {
        settings.registration.confirmEmail && !person.user.emailVerified && person.password != nil
            && person.identities.isEmpty && person.user.lastLogin == nil
    }

    private func isGuest(_ person: StoredPerson) -> Bool {
        person.loginMethods == 0 && person.user.socialAccount?.hasSameBytes(as: Store.ownAccount) ?? false
    }
}

extension Application {
    /// Creates an application for operators, without providers: only logins need their secrets.
    ///
    /// - Throws: `internal` when the settings cannot be read, which only a change outside the administration causes.
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
