import Description
import Encodings

/// How users may get an account without a provider.
package struct Registration: Sendable, Equatable {
    /// Whether users may register with a password, or log in as guests.
    package var enabled = true
    /// Whether an account can log in only after its e-mail address is confirmed.
    package var confirmEmail = false
    /// How many accounts, including guests, one network address may create within an hour.
    package var mostPerHour: Int64 = 100
    /// How many accounts, including guests, all sources together may create within an hour.
    package var mostPerHourInAll: Int64 = 10_000

    package init() {}
}

/// The roles that follow from the state of a user, and that nobody can be given.
package enum SystemRole: String, Sendable, CaseIterable {
    /// All users with an account.
    case authenticatedUser = "AuthenticatedUser"
    /// Guests who have not registered.
    case guestUser = "GuestUser"

    /// The role of a user with this status.
    package init(of status: UserStatus) {
        self = status == .guest ? .guestUser : .authenticatedUser
    }

    /// The role of a name, in any case of letters.
    package init?(name: String) {
        guard name.utf8.count <= 32,
            let found = Self.allCases.first(where: { $0.rawValue.lowercased().hasSameBytes(as: name.lowercased()) })
        else { return nil }
        self = found
    }
}

/// The users who have a role.
package enum RoleHolders: Sendable, Equatable {
    /// The users to whom the role was given.
    case given(String)
    /// The users who have the role by their state.
    case system(SystemRole)
}

extension Registration {
    private static let accounts = Codec.integer(1...1_000_000, "accounts")

    static let description = ObjectDescription(
        Registration(),
        unknown: "is not a setting of registration",
        [
            Field(
                "enabled",
                \.enabled,
                .flag,
                "on",
                "Whether people may register with a password, and come as guests."
            ),
            Field(
                "confirmEmail",
                \.confirmEmail,
                .flag,
                "the address is confirmed first",
                "Whether the first login needs a confirmed e-mail address."
            ),
            Field(
                "mostPerHour",
                \.mostPerHour,
                accounts,
                "most an hour from one network address",
                "How many accounts, guests among them, one network address may make within an hour."
            ),
            Field(
                "mostPerHourInAll",
                \.mostPerHourInAll,
                accounts,
                "most an hour in all",
                "How many accounts, guests among them, may be made within an hour in all."
            ),
        ]
    )
}
