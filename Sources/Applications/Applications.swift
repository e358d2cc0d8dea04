// Applications — the configuration of every application, in memory, as logins work with it.
//
// It owns the copy of the configuration and when it is read anew, an application with its providers, mappings, keys and
// settings as values, the plan of a login, what counts and limits whole use cases, and the form of what the log says of
// them.
//
// It must not know of any use case, of HTTP, or of any provider beyond its kind and capabilities.

package import Store
package import Vocabulary

extension Application {
    /// What a user's roles are: one that was given counts as long as the application has it.
    package func roles(of user: User, given: [String]) -> [String] {
        let known = given.filter { role in settings.roles.contains { $0.hasSameBytes(as: role) } }
        return [SystemRole(of: user.status).rawValue] + known
    }

    /// The role of that name.
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

    /// The role of that name, which can be given and taken.
    ///
    /// - Throws: `role_unknown`; `role_fixed` or `role_permanent` for one of the system's.
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
    /// What it takes to disable a person, or to enable one again; nil when nothing.
    ///
    /// Enabling undoes a disabling and no more: who had to confirm an address before the first login, and never got to
    /// it, has to still. Who waits for that and is not disabled is enabled: an operator vouches for the address. A
    /// guest who is not disabled is what a guest can be.
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
    /// An application as operators work with it: without providers, whose secrets logins alone need.
    ///
    /// - Throws: `internal` when its settings cannot be read, which only a change past the administration brings about.
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
