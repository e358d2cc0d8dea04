import FoundationEssentials
import Postgres
package import Vocabulary

extension Store {
    /// Sets the password of the user whose link it is, in one transaction, and leaves nobody else a login method; the
    /// address is confirmed with it.
    ///
    /// All sessions end, and all links but those that undo a change. Whoever reads the mail of the address owns the
    /// account, and who chose the former password may have been somebody else: identities go, too, unless the reader
    /// says that they are their own (T-32, T-33). While whoever reads another address can still take the account back
    /// nobody moves in: either of the two may be the thief. The first statement locks the user, as a login and a
    /// linking do; those behind it see what these have left.
    ///
    /// - Parameters:
    ///   - tokenHash: SHA-256 of the link's token.
    ///   - purpose: What the link is for.
    ///   - password: The new one, of the user whom the link names.
    ///   - email: The address to which the link went.
    ///   - keepsIdentities: Whether the reader has said that the identities are their own.
    ///   - attemptKey: For what wrong passwords of the login were counted; that is forgotten.
    ///   - factor: The second factor that was shown; it is used up.
    ///   - application: Whose user it is.
    /// - Returns: What was kept with the identities that went: good for giving up our permissions, once. Nil when the
    ///   link did not count.
    /// - Throws: `second_factor_required`, `pending_sign_in_invalid` for a factor that has been used;
    ///   `conflict` while the account can be taken back by another address, `login_taken_by_other`,
    ///   `store_unavailable` and its like; nothing is written then.
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
        let (schema, user) = (application.schema, password.objectID)
        return try await transaction(of: application) { connection -> [KeptIdentity]? in
            let used = try await connection.query(
                """
                with \(Self.taking(tokenHash, purpose, of: application))
                select from used where object_id = \(user.uuid)
                """
            )
            guard used.count == 1 else { return nil }
            try await connection.takeFactor(factor, of: user, at: nil, in: application)
            guard try await !connection.canBeTakenBack(user, butBy: email, schema: schema) else {
                throw Failure.contested
            }
            try await connection.startAnew(by: password, forgetting: attemptKey, in: application)
            guard !keepsIdentities else { return [] }
            let kept = try await connection.keptIdentities(of: user, schema: schema)
            _ = try await connection.query(
                "delete from \(identifier: schema).identities where object_id = \(user.uuid)"
            )
            return kept
        }
    }

    /// Notes that the user whose link it is has shown to own the address, and lets a user in who waited for that.
    ///
    /// The password that counts from then on is one that the reader of the mail knows: who reads it has not always
    /// chosen it.
    ///
    /// - Parameters:
    ///   - tokenHash: SHA-256 of the link's token.
    ///   - verifiedHash: The stored hash that a password was held against; nil when the user had none.
    ///   - application: Whose user it is.
    /// - Returns: The user; nil when the link did not count, or the password has become another one.
    /// - Throws: `store_unavailable` and its like.
    package func confirmEmail(
        byLink tokenHash: [UInt8],
        verifiedHash: SealedSecret?,
        in application: Application
    ) async throws(Failure) -> ObjectID? {
        let hash = verifiedHash.map { Bind.bytes($0.bytes) } ?? .null(.bytes)
        let result = try await query(
            """
            with \(Self.taking(tokenHash, .confirmation, of: application, if: """
                not exists (
                    select from \(identifier: application.schema).passwords p
                    where p.object_id = u.object_id and p.hash is distinct from \(bind: hash)
                )
                """)), links as (
                delete from \(identifier: application.schema).email_proofs
                where object_id = (select used.object_id from used) and purpose = 'confirmation'
                    and token_hash <> \(tokenHash)
            )
            select object_id from used
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            try result.first.map { row throws(PostgresError) in ObjectID(try row.decode(0, as: UUID.self)) }
        }
    }
}

extension PostgresConnection {
    /// Makes a password the one of a user who is locked, and its login the value of the identity property where that is
    /// empty; sessions, failed attempts, and links end, but for those that undo something.
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

    /// Whether a link is out by which the reader of an address takes the account of a user who is locked back, of
    /// another one than this.
    func canBeTakenBack(
        _ user: ObjectID,
        butBy email: String? = nil,
        schema: String
    ) async throws(PostgresError) -> Bool {
        let found = try await query(
            """
            select from \(identifier: schema).email_proofs
            where object_id = \(user.uuid) and purpose = 'reversal' and expires > now()
                and lower(email) is distinct from lower(\(email)) limit 1
            """
        )
        return found.count > 0
    }

    /// Ends the links of a user: whoever reads the mail of an address that the account no longer has may not use what
    /// was sent there.
    ///
    /// One that undoes something stays: it was sent there for that.
    func endLinks(of user: ObjectID, schema: String) async throws(PostgresError) {
        _ = try await query(
            """
            delete from \(identifier: schema).email_proofs where object_id = \(user.uuid) and purpose <> 'reversal'
            """
        )
    }
}

extension Failure {
    fileprivate static let contested = Failure(
        .conflict,
        """
        This account had another address within the last seven days. Until they are over it can be taken back from there, and nobody else \
        takes it over. If you have changed the address yourself, log in with your password, or use the link that was mailed to the former \
        address. If the account is not yours, leave it alone until then.
        """
    )
}
