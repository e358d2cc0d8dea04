// Accounts — what an account has beside its identities, and the wiring of all use cases of clients.
//
// This module owns registration, changes of a user's own record, the searchable collection of users, changes of users
// by other users, by servers and by service accounts, access tokens of service accounts, passwords, mailed links and
// logins by them, and the counts of password guesses. `Deletions` carries out deletion requests, made here or at a
// provider. `Callbacks` handles the callbacks of providers when a user has removed the app, requests the deletion of
// their data, or has changed a permission. `UseCases` wires these use cases and those of `Logins` together: each gets
// exactly its own dependencies.
//
// It must not know how callbacks are signed or spelled, nor HTTP, SQL or any provider beyond its capabilities.

package import Domain

extension Failure {
    package static let loginInvalid = Failure(
        .loginInvalid,
        "The login name or the password is wrong. If you have forgotten the password, request a link to set a new one."
    )

    package static let serverKeyRequired = Failure(
        .serverKeyRequired,
        "This request is for servers only. It needs a server key."
    )
}
