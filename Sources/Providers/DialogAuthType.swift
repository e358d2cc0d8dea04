/// What the login dialog asks of a user who has logged in before.
///
/// Facebook calls it `auth_type`.
package enum DialogAuthType: String, Sendable, CaseIterable {
    /// Ask again for the permissions that the user declined.
    case rerequest
    /// Ask for the password again.
    case reauthenticate
    /// Renew the access to the user's data.
    case reauthorize
}
