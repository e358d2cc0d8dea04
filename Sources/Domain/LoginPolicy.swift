import Description

/// The rules for new passwords.
package struct PasswordRules: Sendable, Equatable {
    /// The maximum length of a password, in bytes of UTF-8.
    package static let maxBytes = 256

    /// The minimum length of a new password, in Unicode code points; operators can set 8 to 64.
    package var minLength: Int64 = 15

    package init() {}
}

/// Whether clients may create users, by any login method: a provider, a password, or as guests.
///
/// Servers, imports and operators may always create users.
package enum NewUsers: String, Sendable, CaseIterable {
    /// Clients may create users.
    case open
    /// Clients may create users only with an invitation.
    case invited
    /// Clients may create no users; existing users can still log in.
    case closed
}

/// Whether a user must log in again, or enter the password, before changing the password or the e-mail address.
package enum ReauthenticationRule: String, Sendable, CaseIterable {
    /// The user must have logged in within the last five minutes, or enters the password.
    case recent
    /// A valid session is enough.
    case session
}

/// The lockout of logins by password, from every source, after wrong passwords for a login name.
///
/// Other login methods go on working.
package struct Lockout: Sendable, Equatable {
    /// How many wrong passwords for one login name within `seconds` cause the lockout, 3 to 100.
    package var failures: Int64 = 100
    /// For how many seconds a wrong password counts towards the lockout, 60 to 86,400; no lockout lasts longer.
    package var seconds: Int64 = 3600

    package init() {}
}

/// A right of server keys that the operator can grant to every API key.
///
/// Apps on users' devices contain an API key. So the grant gives the right to everyone who has such an app.
package enum APIKeyRight: String, Sendable, CaseIterable {
    /// To create the link that confirms the address of a user whose address is not yet confirmed.
    ///
    /// A client with this right can confirm any address without reading the mail to it.
    case confirmationURL
    /// To read the users who have a role.
    case findByRole
}

/// Which accounts a new user may claim, after a first login by a provider that gave the account's e-mail address.
///
/// A mail to that address offers to make both accounts one. The address alone never does (decision D6).
package enum AccountClaims: String, Sendable, CaseIterable {
    case off
    /// Accounts that are older than the application here, and accounts that nobody has logged in to yet.
    case imported
    case all
}

/// What a first login by a provider does whose e-mail address an account has already.
package enum SameAddress: String, Sendable, CaseIterable {
    /// The login creates a user of its own.
    case separate
    /// The login is put off, and the client asks whether the account is the same human's (`account_exists`).
    case ask
}

/// What a login does when the user already has as many sessions as are allowed.
package enum SessionLimitBehavior: String, Sendable, CaseIterable {
    /// The oldest sessions are revoked.
    case endOldest
    /// The sessions stay, and the login is refused.
    case refuse
}

extension PasswordRules {
    /// The minimum password length below which operators get a warning.
    ///
    /// An attacker who has the hashes of shorter passwords can guess the passwords.
    private static let fewAreWarnedBelow: Int64 = 12

    /// Describes the password rules in their JSON form.
    ///
    /// NIST SP 800-63B, revision 4, allows no minimum length below 8, and requires that passwords of 64 characters are
    /// accepted.
    static let description = ObjectDescription(
        PasswordRules(),
        unknown: "is not a setting of passwords",
        [
            Field(
                "minLength",
                formerly: "fewestCharacters",
                \.minLength,
                .integer(8...64, "characters"),
                "minimum length",
                """
                Minimum number of characters of a new password. Fewer than 12 gives a warning. Existing passwords stay \
                valid.
                """,
                warnings: { fewest in
                    guard fewest < fewAreWarnedBelow else { return [] }
                    return [
                        """
                        passwords.minLength is \(fewest): if the password hashes leak, passwords of fewer than \
                        \(fewAreWarnedBelow) characters can be guessed. Set it to 15, unless users already have \
                        shorter passwords.
                        """
                    ]
                }
            )
        ]
    )
}

extension Lockout {
    static let description = ObjectDescription(
        Lockout(),
        unknown: "is not a setting of lockout",
        [
            Field(
                // At most a hundred guesses in a row (NIST SP 800-63B, revision 4); a limit below three locks out users
                // who mistype.
                "failures",
                \.failures,
                .integer(3...100, "failures"),
                "wrong passwords",
                "How many wrong passwords within the time cause a lockout. During the lockout no password is checked."
            ),
            Field(
                // At most a day: anyone who knows a login name can lock it out.
                "seconds",
                \.seconds,
                .seconds(60...86_400),
                "within",
                "How long a wrong password counts, and so the longest lockout."
            ),
        ]
    )
}
