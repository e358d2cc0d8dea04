/// How people may come to an account without a provider.
package struct Registration: Sendable, Equatable {
    /// Whether they may register with a password, or come as guests.
    package var enabled = true
    /// Whether an account counts only when its e-mail address has been confirmed.
    package var confirmEmail = false
    /// Accounts, guests among them, that may be made from one network address within an hour.
    package var mostPerHour: Int64 = 100
    /// The same, from wherever: what the application takes at all.
    package var mostPerHourInAll: Int64 = 10_000

    package init() {}
}

/// The roles that nobody is given: which of them a user has follows from what the user is.
package enum SystemRole: String, Sendable, CaseIterable {
    /// Everybody with an account.
    case authenticatedUser = "AuthenticatedUser"
    /// Who came as a guest and has not registered.
    case guestUser = "GuestUser"

    /// The one that a user of this status has.
    package init(of status: UserStatus) {
        self = status == .guest ? .guestUser : .authenticatedUser
    }

    /// The one of that name, however it is spelt.
    package init?(name: String) {
        guard name.utf8.count <= 32,
            let found = Self.allCases.first(where: { $0.rawValue.lowercased().hasSameBytes(as: name.lowercased()) })
        else { return nil }
        self = found
    }
}

/// Which users have a role.
package enum RoleHolders: Sendable, Equatable {
    /// Those to whom it was given.
    case given(String)
    /// Those who have it by what they are.
    case system(SystemRole)
}
