package import Domain
import FoundationEssentials
import Postgres

/// The result of reversing changes of an account.
package struct UndoneChange: Sendable {
    /// The removed identities with their stored tokens.
    ///
    /// The service can use each token once more, to remove the app's permissions at the provider.
    package let lost: [KeptIdentity]
    /// The providers of identities that were not restored: another user has the identity now, or the user has another
    /// identity at the same app.
    package let notRestored: [String]
}

extension Store {
    /// Reverses all changes of an account since the change that a reversal link was made for, in one transaction.
    ///
    /// The former e-mail address is restored and confirmed, and the account gets a new password. The former identities
    /// and second factors are restored. All sessions are revoked. All mailed links are revoked, except those that
    /// reverse earlier changes: with these, the owner of a still earlier address can get the account back. If another
    /// account was registered with the restored address meanwhile and has not confirmed it, that account loses its
    /// password.
    ///
    /// - Parameters:
    ///   - tokenHash: SHA-256 of the link's token.
    ///   - password: The new password of the link's user, with the login name from before the change.
    ///   - attemptKey: The key of the login name's failed attempts, which are deleted.
    ///   - factor: The verified second factor, which is used up.
    ///   - application: The application of the user.
    /// - Returns: The result; nil when the link was invalid.
    /// - Throws: `second_factor_required` when the account has a factor that it also had before the change,
    ///   `pending_login_invalid` for a factor that has been used, `login_taken_by_other` when another account has
    ///   confirmed the address, `store_unavailable` and similar failures. Nothing is written then.
    package func undoChange(
        byLink tokenHash: [UInt8],
        to password: StoredPassword,
        forgetting attemptKey: [UInt8],
        showing factor: FactorProof?,
        in application: Application
    ) async throws(Failure) -> UndoneChange? {
        let (schema, user) = (application.schema, password.objectID)
        return try await transaction(of: application) { connection -> UndoneChange? in
            let used = try await connection.query(
                """
                with \(Self.taking(tokenHash, .reversal, of: application))
                select link.created from used, link where used.object_id = \(user.uuid)
                """
            )
            guard let made = try used.first(Timestamp.self) else { return nil }
            let moment: Statement = "\(bind: .timestamp(made))::timestamptz"
            try await connection.takeFactor(factor, of: user, at: made, in: application)
            try await connection.requireNoMerge(into: user, since: moment, schema: schema)
            // The link shows only that its user reads mail to the address. A login name of another kind that another
            // user has got since stays with that user.
            if application.settings.identityProperty == .email {
                try await connection.freeLogin(password.login, for: user, schema: schema)
            }
            try await connection.startAnew(by: password, forgetting: attemptKey, in: application)
            _ = try await connection.query(
                """
                delete from \(identifier: schema).email_proofs
                where object_id = \(user.uuid) and created >= \(moment) and purpose <> 'mergeReversal'
                """
            )
            let before = try await connection.keptIdentities(of: user, schema: schema)
            let notRestored = try await connection.restoreIdentities(of: user, to: moment, schema: schema)
            try await connection.restoreFactors(of: user, to: moment, schema: schema)
            let after = Set(try await connection.keptIdentities(of: user, schema: schema).map(\.key))
            return UndoneChange(lost: before.filter { !after.contains($0.key) }, notRestored: notRestored)
        }
    }
}

extension PostgresConnection {
    /// Requires that no account became a part of this one around a change that is being undone.
    ///
    /// The login methods of that account would stay. They may be a thief's.
    ///
    /// - Throws: `conflict`.
    fileprivate func requireNoMerge(into user: ObjectID, since moment: Statement, schema: String) async throws {
        let merges = try await query(
            """
            select from \(identifier: schema).merged_users
            where survivor = \(user.uuid) and record is not null and undo_until > now()
                and merged >= \(moment) - make_interval(secs => \(EmailTokenPurpose.suspicionSeconds))
            limit 1
            """
        )
        guard merges.count == 0 else { throw Failure.mergedMeanwhile }
    }

    /// Restores the factors that a user had at a moment, as far as they are still stored.
    ///
    /// The user's row must be locked.
    fileprivate func restoreFactors(
        of user: ObjectID,
        to moment: Statement,
        schema: String
    ) async throws(PostgresError) {
        try await removeFactors(of: user, where: "created >= \(moment)", schema: schema)
        _ = try await query(
            """
            update \(identifier: schema).factors f set removed = null
            where f.object_id = \(user.uuid) and f.created < \(moment) and f.removed >= \(moment)
                and not exists (
                    select from \(identifier: schema).factors o
                    where o.credential_id = f.credential_id and o.removed is null
                )
            """
        )
    }

    /// Removes the password of another account that has got the login name meanwhile.
    ///
    /// - Throws: `login_taken_by_other` if that account has confirmed the address.
    fileprivate func freeLogin(_ login: String, for user: ObjectID, schema: String) async throws {
        let found = try await query(
            """
            select u.object_id, u.email_verified and lower(u.email) = \(login) from \(identifier: schema).users u where u.object_id = (
                select p.object_id from \(identifier: schema).passwords p
                where p.login = \(login) and p.object_id <> \(user.uuid)
            ) for update
            """
        )
        guard let (owner, hasConfirmed) = try found.first(ObjectID.self, Bool?.self) else { return }
        guard hasConfirmed != true else { throw Failure.addressConfirmedByOther }
        let way = StoredLoginMethod(provider: ProviderName.password.text, app: "", subject: login)
        _ = try await remove(way, of: owner, sparing: [], schema: schema)
    }
}

extension Failure {
    fileprivate static let mergedMeanwhile = Failure(
        .conflict,
        """
        Another account became a part of this one meanwhile. First separate them with the link in the mail about it, \
        then use this link again.
        """
    )

    fileprivate static let addressConfirmedByOther = Failure(
        .loginTakenByOther,
        "Nothing was undone, because another account has confirmed this address since. Contact the operator of the app."
    )
}
