/// What a password is held to when somebody chooses one.
package struct PasswordRules: Sendable, Equatable {
    /// Bytes of the longest password that is hashed, in UTF-8.
    package static let mostBytes = 256

    /// How short it may be, in code points: 8 to 64.
    package var fewestCharacters: Int64 = 15

    package init() {}
}

/// Whether clients may make new users, by whichever way in: a provider, a password, or as guests.
///
/// Servers, imports and operators may, whatever is set.
package enum NewUsers: String, Sendable, CaseIterable {
    /// Everybody may become a user.
    case open
    /// Whoever has an invitation may.
    case invited
    /// Nobody may; those who are users go on logging in.
    case closed
}

/// What a session must have shown before the password or the e-mail address changes by it.
package enum ReauthenticationRule: String, Sendable, CaseIterable {
    /// That its person was authenticated within the last minutes, or the password.
    case recent
    /// Nothing: it lives.
    case session
}

/// When wrong passwords lock a login by password, for everybody and from wherever; no other login method is locked.
package struct LoginLock: Sendable, Equatable {
    /// Wrong passwords for one login within `seconds`, 3 to 100; one more is not looked at.
    package var failures: Int64 = 100
    /// For how long wrong passwords count, and so the longest that a login is locked, 60 to 86,400.
    package var seconds: Int64 = 3600

    package init() {}
}

/// What is a server's, and may be opened to every API key: whoever has the app has its key.
package enum ClientKeyRight: String, Sendable, CaseIterable {
    /// To make the link that confirms the address of a user who waits for that, and so to confirm any.
    case confirmationURL
    /// To read the users who have a role.
    case findByRole
}

/// What becomes of the sessions of a user who has as many as are allowed, when there is another login.
package enum ExcessLogins: String, Sendable, CaseIterable {
    /// The oldest end.
    case endOldest
    /// They stay, and the login is refused.
    case refuse
}
