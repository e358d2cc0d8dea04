// Accounts — accounts beside their identities, and all use cases of clients together.
//
// This module owns registration, changes of a user's own record, the searchable collection of users, changes of users
// by other users and by servers, passwords, mailed links, and the counts of password guesses. `Deletions` carries out
// deletion requests, made here or at a provider. `Callbacks` handles the callbacks of providers when a user has removed
// the app, requests the deletion of their data, or has changed a permission. `UseCases` wires these use cases and those
// of `Logins` together: each gets exactly its own dependencies.
//
// It must not know signatures or spellings of callbacks, nor HTTP, SQL or any provider beyond its capabilities.

package import Domain

extension Failure {
    package static let loginInvalid = Failure(
        .loginInvalid,
        "The login or the password is wrong. If you have forgotten the password, ask for a link to set another one."
    )

    package static let linkInvalid = Failure(
        .linkInvalid,
        "This link has been used, is too old, or is not complete. Ask for another mail."
    )

    package static let serverKeyRequired = Failure(
        .serverKeyRequired,
        "This is for servers only: it needs an API key that the operator has made a server's."
    )
}
