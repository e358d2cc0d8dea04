import Vocabulary
import Store

extension Application {
    /// What it takes to disable a person, or to enable one again; nil when nothing.
    ///
    /// Enabling undoes a disabling and no more: who had to confirm an address before the first login, and never got to it, has to still.
    /// Who waits for that and is not disabled is enabled: an operator vouches for the address. A guest who is not disabled is what a
    /// guest can be.
    func change(of person: StoredPerson, to status: UserStatus) -> PersonChange? {
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
