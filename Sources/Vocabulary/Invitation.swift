/// Whom an invitation is for, before there is a user.
package enum InvitedContact: Sendable, Equatable {
    /// An address of e-mail, as it was written.
    case email(String)
    /// A telephone number as E.164 writes it.
    case phone(String)
    /// An identity at a provider, which the operator vouches for.
    case identity(IdentityKey)
}

/// How an invitation stands.
package enum InvitationState: String, Sendable, CaseIterable {
    /// It can be taken.
    case open
    /// Nobody has taken it in time.
    case expired
    /// Somebody has become a user by it.
    case accepted
}
