import Description
import Encodings

/// How users may get an account without a provider.
package struct Registration: Sendable, Equatable {
    /// Whether users may register with a password, or log in as guests.
    package var enabled = true
    /// Whether an account can log in only after its e-mail address is confirmed.
    package var confirmEmail = false
    /// How many accounts, including guests, one network address may create within an hour.
    package var maxPerSourcePerHour: Int64 = 100
    /// How many accounts, including guests, all sources together may create within an hour.
    package var maxPerHour: Int64 = 10_000

    package init() {}
}

/// The roles that follow from the status of a user, and that no operator or server can give.
package enum SystemRole: String, Sendable, CaseIterable {
    /// All users with an account.
    case authenticatedUser = "AuthenticatedUser"
    /// Guests who have not registered.
    case guestUser = "GuestUser"

    /// The role of a user with this status.
    package init(of status: UserStatus) {
        self = status == .guest ? .guestUser : .authenticatedUser
    }

    /// The role with this name, in upper or lower case; nil if there is none.
    package init?(name: String) {
        guard name.utf8.count <= 32,
            let found = Self.allCases.first(where: { $0.rawValue.lowercased().hasSameBytes(as: name.lowercased()) })
        else { return nil }
        self = found
    }
}

/// The users who have a certain role.
///
/// They were given the role, or have it by their status.
package enum RoleHolders: Sendable, Equatable {
    /// The users to whom the role was given.
    case given(String)
    /// The users who have the role by their status.
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
                "Whether users may register with a password or as guests."
            ),
            Field(
                "confirmEmail",
                \.confirmEmail,
                .flag,
                "confirm the e-mail address first",
                "Whether the e-mail address must be confirmed before the first login."
            ),
            Field(
                "maxPerSourcePerHour",
                formerly: "mostPerHour",
                \.maxPerSourcePerHour,
                accounts,
                "maximum per hour from one network address",
                "How many accounts, guests included, one network address may create within an hour."
            ),
            Field(
                "maxPerHour",
                formerly: "mostPerHourInAll",
                \.maxPerHour,
                accounts,
                "maximum per hour in total",
                "How many accounts, guests included, may be created within an hour in total."
            ),
        ]
    )
}
