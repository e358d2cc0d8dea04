// Accounts — accounts beside their identities: passwords, addresses, properties, roles.
//
// It owns registration, changes of one's own record, the users as a collection that is searched, what others and
// servers may do to users, the deletion of an account, passwords and the links that go by mail, and guesses and how they
// are counted.
//
// It must not know of providers, nor of how a client's protocol spells a record.

package import Vocabulary

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
