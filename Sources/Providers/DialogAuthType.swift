/// What the login dialog asks of a user who has logged in before: Facebook's `auth_type`.
package enum DialogAuthType: String, Sendable, CaseIterable {
    /// Ask again for declined permissions.
    case rerequest
    /// Ask for the password again.
    case reauthenticate
    /// Renew the access to the user's data.
    case reauthorize
}
