package import Domain
import FoundationEssentials
import Postgres

extension Store {
    /// Sets the password of a mailed link's user in one transaction, and confirms the user's e-mail address.
    ///
    /// Removes all identities, unless the user has confirmed that these are the user's own (T-32, T-33).
    ///
    /// A user who reads mail to the address owns the account, and the former password may have been an attacker's.
    /// Therefore all sessions are revoked, and all mailed links except those that reverse a change. The reset is
    /// refused while a reversal link to another address can still recover the account, since the reader of either
    /// address may be the thief. The first statement locks the user's row, as logins and linking do. So the later
    /// statements see what logins have written.
    ///
    /// - Parameters:
    ///   - tokenHash: SHA-256 of the link's token.
    ///   - purpose: The purpose of the link.
    ///   - password: The new password of the link's user.
    ///   - email: The address to which the link was sent.
    ///   - keepsIdentities: Whether the user has said that the identities are the user's own.
    ///   - attemptKey: The key of the login name's failed attempts, which are deleted.
    ///   - factor: The verified second factor, which is used up.
    ///   - application: The application of the user.
    /// - Returns: The removed identities with their stored tokens. A token can be used once more, to remove the app's
    ///   permissions. Nil if the link was invalid.
    /// - Throws: `second_factor_required`, `pending_login_invalid` for a factor that has been used, `conflict` while a
    ///   reversal link to another address can still recover the account, `login_taken_by_other`, `store_unavailable`
    ///   and similar failures. Nothing is written then.
    package func resetPassword(
        byLink tokenHash: [UInt8],
        for purpose: EmailTokenPurpose,
        to password: StoredPassword,
        at email: String,
        keepingIdentities keepsIdentities: Bool,
        forgetting attemptKey: [UInt8],
        showing factor: FactorProof?,
        in application: Application
    ) async throws(Failure) -> [KeptIdentity]? {
        let user = password.objectID
        return try await transaction(of: application) { connection -> [KeptIdentity]? in
            let used = try await connection.query(
                """
                with \(Self.taking(tokenHash, purpose, of: application))
                select from used where object_id = \(user.uuid)
                """
            )
            guard used.count == 1 else { return nil }
            try await connection.takeFactor(factor, of: user, at: nil, in: application)
            return try await connection.takeOver(
                by: password,
                at: email,
                keepingIdentities: keepsIdentities,
                forgetting: attemptKey,
                in: application
            )
        }
    }

    /// Gives an account whose address was not confirmed to the reader of that address, in one transaction.
    ///
    /// Somebody else may have made the account. So it loses its password, its identities and its sessions, and its
    /// address is confirmed.
    ///
    /// - Parameters:
    ///   - password: The value that replaces the password.
    ///   - email: The address of the account, as it is stored.
    ///   - attemptKey: The key of the login name's failed attempts, which are deleted.
    ///   - application: The application of the user.
    /// - Returns: The removed identities with their stored tokens. Nil if the address has been confirmed or changed
    ///   meanwhile, or the user is disabled or has a second factor.
    /// - Throws: `conflict` while a reversal link to another address can still recover the account,
    ///   `store_unavailable` and similar failures. Nothing is written then.
    package func takeOver(
        by password: StoredPassword,
        at email: String,
        forgetting attemptKey: [UInt8],
        in application: Application
    ) async throws(Failure) -> [KeptIdentity]? {
        let (schema, user) = (application.schema, password.objectID)
        return try await transaction(of: application) { connection -> [KeptIdentity]? in
            let confirmed = try await connection.query(
                """
                update \(identifier: schema).users u set email_verified = true, user_status = 'ENABLED'
                where u.object_id = \(user.uuid) and u.email = \(email) and not u.email_verified
                    and u.user_status in ('ENABLED', 'EMAIL_CONFIRMATION_PENDING')
                    and not exists (
                        select from \(identifier: schema).factors f
                        where f.object_id = u.object_id and f.removed is null
                    )
                """
            )
            guard confirmed.affectedRows == 1 else { return nil }
            return try await connection.takeOver(
                by: password,
                at: email,
                keepingIdentities: false,
                forgetting: attemptKey,
                in: application
            )
        }
    }

    /// Confirms the e-mail address of a mailed link's user, and enables a user who waited for the confirmation.
    ///
    /// The link is valid only together with the current password. An attacker may have registered with the address of
    /// another user and chosen the password. That user gets the mail, but must not confirm the attacker's account by
    /// following the link, and cannot without the password.
    ///
    /// - Parameters:
    ///   - tokenHash: SHA-256 of the link's token.
    ///   - verifiedHash: The stored hash that a password was verified against; nil when the user had none.
    ///   - application: The application of the user.
    /// - Returns: The user; nil when the link was invalid or the password has changed.
    /// - Throws: `store_unavailable` and similar failures.
    package func confirmEmail(
        byLink tokenHash: [UInt8],
        verifiedHash: EncryptedSecret?,
        in application: Application
    ) async throws(Failure) -> ObjectID? {
        try await confirmEmail(
            byLink: tokenHash,
            for: .confirmation,
            if: """
                not exists (
                    select from \(identifier: application.schema).passwords p
                    where p.object_id = u.object_id and p.hash is distinct from \(verifiedHash?.bytes)
                )
                """,
            in: application
        )
    }

    /// Confirms the e-mail address of the user who requested a mailed link, by the link alone.
    ///
    /// A user whose registration is not confirmed yet stays unconfirmed: that confirmation needs the password.
    ///
    /// - Returns: The user; nil when the link was invalid.
    /// - Throws: `store_unavailable` and similar failures.
    package func verifyEmail(
        byLink tokenHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> ObjectID? {
        try await confirmEmail(
            byLink: tokenHash,
            for: .verification,
            if: "u.user_status = 'ENABLED'",
            in: application
        )
    }

    private func confirmEmail(
        byLink tokenHash: [UInt8],
        for purpose: EmailTokenPurpose,
        if condition: Statement,
        in application: Application
    ) async throws(Failure) -> ObjectID? {
        let result = try await query(
            """
            with \(Self.taking(tokenHash, purpose, of: application, if: condition)), links as (
                delete from \(identifier: application.schema).email_proofs
                where object_id = (select used.object_id from used) and purpose = \(purpose.rawValue)
                    and token_hash <> \(tokenHash)
            )
            select object_id from used
            """,
            of: application
        )
        return try result.first(ObjectID.self)
    }
}

extension PostgresConnection {
    /// Gives an account to the reader of its address: sets the password, and ends all other access.
    ///
    /// The user's row must be locked, and the address confirmed.
    ///
    /// - Returns: The removed identities with their stored tokens.
    /// - Throws: `conflict` while a reversal link to another address can still recover the account.
    fileprivate func takeOver(
        by password: StoredPassword,
        at email: String,
        keepingIdentities keepsIdentities: Bool,
        forgetting attemptKey: [UInt8],
        in application: Application
    ) async throws -> [KeptIdentity] {
        let (schema, user) = (application.schema, password.objectID)
        guard try await !canBeTakenBack(user, butBy: email, schema: schema) else { throw Failure.contested }
        try await startAnew(by: password, forgetting: attemptKey, in: application)
        guard !keepsIdentities else { return [] }
        let kept = try await keptIdentities(of: user, schema: schema)
        _ = try await query("delete from \(identifier: schema).identities where object_id = \(user.uuid)")
        return kept
    }

    /// Sets the password of a user, and ends all access that the former password may have given.
    ///
    /// The user's row must be locked. If the identity property is empty, the login name is written to it. Sessions,
    /// failed attempts and mailed links are deleted, except links that reverse a change.
    func startAnew(
        by password: StoredPassword,
        forgetting attemptKey: [UInt8],
        in application: Application
    ) async throws(PostgresError) {
        let (schema, user) = (application.schema, password.objectID.uuid)
        _ = try await query(password.replacement(in: application))
        let identity = application.settings.identityProperty
        if identity != .email {
            _ = try await query(
                """
                update \(identifier: schema).users set \(identifier: identity.text) = \(password.login), updated = now()
                where object_id = \(user) and \(identifier: identity.text) is null
                """
            )
        }
        try await endSessions(of: password.objectID, schema: schema)
        try await endLinks(of: password.objectID, schema: schema)
        _ = try await query("delete from \(identifier: schema).attempts where key = \(attemptKey)")
    }

    /// Returns whether a link that undoes something is valid that was mailed to another address than `email`.
    ///
    /// The holder of such a link can still undo a change of the account, or a merge into it, and so recover it.
    ///
    /// The user's row must be locked.
    func canBeTakenBack(
        _ user: ObjectID,
        butBy email: String? = nil,
        schema: String
    ) async throws(PostgresError) -> Bool {
        let found = try await query(
            """
            select from \(identifier: schema).email_proofs
            where object_id = \(user.uuid) and purpose in ('reversal', 'mergeReversal') and expires > now()
                and lower(email) is distinct from lower(\(email)) limit 1
            """
        )
        return found.count > 0
    }

    /// Returns whether an erasure of the user must wait, because a link that was mailed to another address can still
    /// undo a change of the account, or a merge into it.
    ///
    /// The user's row must be locked.
    func isContested(_ user: ObjectID, schema: String) async throws(PostgresError) -> Bool {
        let found = try await query(
            """
            select from \(identifier: schema).email_proofs e join \(identifier: schema).users u using (object_id)
            where object_id = \(user.uuid) and \(unsafeRaw: Store.contests) limit 1
            """
        )
        return found.count > 0
    }

    /// Revokes the links that were mailed to a user, except those that undo something.
    ///
    /// A user who reads the mail of a former address of the account must not use the links that were sent there. Only
    /// reversal links are meant for such a user.
    func endLinks(of user: ObjectID, schema: String) async throws(PostgresError) {
        _ = try await query(
            """
            delete from \(identifier: schema).email_proofs
            where object_id = \(user.uuid) and purpose not in ('reversal', 'mergeReversal')
            """
        )
    }
}

extension Failure {
    static let contested = Failure(
        .conflict,
        """
        The address of this account changed within the last seven days, or another account became a part of this one. \
        During this time the other address can undo that. If you did it yourself, log in as usual, or use the link \
        that was mailed to the other address. If the account is not yours, wait until then.
        """
    )
}
