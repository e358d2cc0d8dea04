import FoundationEssentials
import Postgres
package import Vocabulary

/// What an account was before its changes were undone, and what could not be.
package struct UndoneChange: Sendable {
    /// What was kept with the identities that went: good for giving up our permissions, once.
    package let lost: [KeptIdentity]
    /// The providers of identities that are somebody else's by now, or in whose place others are.
    package let notRestored: [String]
}

extension Store {
    /// Undoes what has become of the account whose link it is since the change that the link was made for, in one
    /// transaction.
    ///
    /// The address of then is the account's again, with a new password, and confirmed; identities are those of then.
    /// All sessions end, and all links but those that undo earlier changes: who had the account first has the last
    /// word. An account that was made with the address meanwhile, and never confirmed it, does not log in by it any
    /// more.
    ///
    /// - Parameters:
    ///   - tokenHash: SHA-256 of the link's token.
    ///   - password: The new one, of the user whom the link names, for what the user logged in by then.
    ///   - attemptKey: For what wrong passwords of the login were counted; that is forgotten.
    ///   - factor: The second factor that was shown; it is used up.
    ///   - application: Whose user it is.
    /// - Returns: Nil when the link did not count.
    /// - Throws: `second_factor_required` when the account has one that it had before the change, too,
    ///   `pending_sign_in_invalid` for a factor that has been used; `login_taken_by_other` when another account has
    ///   confirmed the address, `store_unavailable` and its like; nothing is written then.
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
            guard let row = used.first else { return nil }
            let made = try row.decode(0, as: Timestamp.self)
            let moment: Statement = "\(bind: .timestamp(made))::timestamptz"
            try await connection.takeFactor(factor, of: user, at: made, in: application)
            // Of other logins nobody has shown that they are theirs: one that somebody has got since stays with them.
            if application.settings.identityProperty == .email {
                try await connection.freeLogin(password.login, for: user, schema: schema)
            }
            try await connection.startAnew(by: password, forgetting: attemptKey, in: application)
            _ = try await connection.query(
                "delete from \(identifier: schema).email_proofs where object_id = \(user.uuid) and created >= \(moment)"
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
    /// Makes the factors of a user who is locked those of a moment, so far as they are still known.
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

    /// Takes a login from the account that has got it meanwhile.
    fileprivate func freeLogin(_ login: String, for user: ObjectID, schema: String) async throws {
        let found = try await query(
            """
            select u.object_id, u.email_verified and lower(u.email) = \(login) from \(identifier: schema).users u where u.object_id = (
                select p.object_id from \(identifier: schema).passwords p
                where p.login = \(login) and p.object_id <> \(user.uuid)
            ) for update
            """
        )
        guard let row = found.first else { return }
        guard try row.decode(1, as: Bool?.self) != true else { throw Failure.addressConfirmedByOther }
        let way = StoredLoginMethod(provider: ProviderName.password.text, app: "", subject: login)
        _ = try await remove(way, of: ObjectID(try row.decode(0, as: UUID.self)), sparing: [], schema: schema)
    }
}

extension Failure {
    fileprivate static let addressConfirmedByOther = Failure(
        .loginTakenByOther,
        "Another account has confirmed this address since, so nothing was undone. Ask those who run the app to help you."
    )
}
