/// What the provider's login dialog asks of a user who has logged in with the app before.
///
/// Facebook calls it `auth_type`.
package enum DialogAuthType: String, Sendable, CaseIterable {
    /// The dialog asks again for the permissions that the user declined.
    case rerequest
    /// The dialog asks for the password at the provider again.
    case reauthenticate
    /// The dialog asks the user to renew the app's access to the user's data.
    case reauthorize
}
