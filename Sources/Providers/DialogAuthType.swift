/// What the login dialog is to ask of a person who has logged in before: Facebook's `auth_type`.
package enum DialogAuthType: String, Sendable, CaseIterable {
    /// Ask again for permissions that were declined.
    case rerequest
    /// Ask for the password again.
    case reauthenticate
    /// Renew the access to the person's data.
    case reauthorize
}
