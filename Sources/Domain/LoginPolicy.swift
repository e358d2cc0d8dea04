import Description

/// The rules for new passwords.
package struct PasswordRules: Sendable, Equatable {
    /// The longest password that is hashed, in bytes of UTF-8.
    package static let mostBytes = 256

    /// The shortest new password in code points, 8 to 64.
    package var fewestCharacters: Int64 = 15

    package init() {}
}

/// Whether clients may create users, by any login method: a provider, a password, or as guests.
///
/// Servers, imports and operators may always create users.
package enum NewUsers: String, Sendable, CaseIterable {
    /// Everybody may become a user.
    case open
    /// Holders of an invitation may become users.
    case invited
    /// Nobody may become a user; existing users go on logging in.
    case closed
}

/// What a session must show before it may change the password or the e-mail address.
package enum ReauthenticationRule: String, Sendable, CaseIterable {
    /// A login within the last minutes, or the password.
    case recent
    /// Nothing beyond a valid session.
    case session
}

/// The lockout after wrong passwords: of logins by password, from every source; other login methods go on working.
package struct LoginLock: Sendable, Equatable {
    /// Wrong passwords for one login name within `seconds`, 3 to 100; further passwords are not verified.
    package var failures: Int64 = 100
    /// Seconds for which a wrong password counts, and so the longest lockout, 60 to 86,400.
    package var seconds: Int64 = 3600

    package init() {}
}

/// A right of servers that can be granted to every API key, and so to everybody who has the app with its key.
package enum ClientKeyRight: String, Sendable, CaseIterable {
    /// To create the link that confirms the address of a user with a pending confirmation, and so any address.
    case confirmationURL
    /// To read the users who have a role.
    case findByRole
}

/// What a login does when the user already has as many sessions as are allowed.
package enum ExcessLogins: String, Sendable, CaseIterable {
    /// The oldest sessions are revoked.
    case endOldest
    /// The sessions stay, and the login is refused.
    case refuse
}

extension PasswordRules {
    /// The length below which an attacker who has the hashes can compute passwords.
    private static let fewAreWarnedBelow: Int64 = 12

    /// The description of the rules.
    ///
    /// NIST SP 800-63B, revision 4, knows no minimum below 8, and wants passwords of 64 characters accepted.
    static let description = ObjectDescription(
        PasswordRules(),
        unknown: "is not a setting of passwords",
        [
            Field(
                "fewestCharacters",
                \.fewestCharacters,
                .integer(8...64, "characters"),
                "fewest characters",
                """
                How many characters a new password has at least. Below 12 is a warning. Existing passwords go on \
                counting.
                """,
                warnings: { fewest in
                    guard fewest < fewAreWarnedBelow else { return [] }
                    return [
                        """
                        passwords.fewestCharacters is \(fewest): passwords of fewer than \(fewAreWarnedBelow) \
                        characters are guessed by whoever gets hold of their hashes. Keep 15, unless people already \
                        have shorter ones.
                        """
                    ]
                }
            )
        ]
    )
}

extension LoginLock {
    static let description = ObjectDescription(
        LoginLock(),
        unknown: "is not a setting of lock",
        [
            Field(
                // At most a hundred guesses in a row (NIST SP 800-63B, revision 4); a limit below three locks out users
                // who mistype.
                "failures",
                \.failures,
                .integer(3...100, "failures"),
                "how many",
                """
                How many wrong passwords within the time lock a login. The service does not look at further passwords \
                then.
                """
            ),
            Field(
                // At most a day: everybody who knows a login name can lock it out.
                "seconds",
                \.seconds,
                .seconds(60...86_400),
                "within",
                "Seconds for which a wrong password counts, and so the longest time for which a login is locked."
            ),
        ]
    )
}
