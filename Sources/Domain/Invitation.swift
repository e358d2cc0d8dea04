/// The e-mail address, telephone number or identity that an invitation is for, before the user exists.
package enum InvitedContact: Sendable, Equatable {
    /// An e-mail address, as it was written.
    case email(String)
    /// A telephone number in the form of E.164.
    case phone(String)
    /// An identity at a provider; the operator is responsible for naming the right one.
    case identity(IdentityKey)
}

/// The state of an invitation.
package enum InvitationState: String, Sendable, CaseIterable {
    /// The invitation can be accepted.
    case open
    /// The invitation was not accepted in time.
    case expired
    /// A user was created by the invitation.
    case accepted
}
