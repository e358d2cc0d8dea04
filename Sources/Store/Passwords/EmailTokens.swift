package import Domain
import FoundationEssentials
import Postgres

/// The token in a link that is mailed to a user's address.
///
/// A user who presents the token can read mail to that address, so the address is confirmed. This is not certain if the
/// operator lets all API keys create such links.
package struct EmailToken: Sendable {
    package let user: ObjectID
    /// The other user, if the link is about two users; see ``EmailTokenPurpose``.
    package let other: ObjectID?
    /// The address as stored when the link was made.
    ///
    /// The link is valid only while this is still the user's address. A link that undoes something is valid in any
    /// case.
    package let email: String
    /// The login name that the user had when the link was made; a reversal restores this name.
    ///
    /// Nil if the login name is the address, or if there was none.
    package let login: String?
    /// Whether the link only confirms the address and sets no password, since its holder may not be the reader of the
    /// mail.
    package let onlyConfirms: Bool

    package init(
        user: ObjectID,
        other: ObjectID? = nil,
        email: String,
        login: String? = nil,
        onlyConfirms: Bool = false
    ) {
        self.user = user
        self.other = other
        self.email = email
        self.login = login
        self.onlyConfirms = onlyConfirms
    }
}

extension Store {
    /// Stores the token of a mailed link, as its SHA-256 hash.
    package func addEmailToken(
        _ token: EmailToken,
        for purpose: EmailTokenPurpose,
        tokenHash: [UInt8],
        of application: Application
    ) async throws(Failure) {
        _ = try await query(Self.adding(token, for: purpose, tokenHash: tokenHash, of: application), of: application)
    }

    /// Returns the statement that stores the token of a mailed link.
    ///
    /// As the creation time it stores the time of the statement, not of the transaction. Changes of one user wait for
    /// each other, so the later change has the later time.
    static func adding(
        _ token: EmailToken,
        for purpose: EmailTokenPurpose,
        tokenHash: [UInt8],
        of application: Application
    ) -> Statement {
        """
        insert into \(identifier: application.schema).email_proofs
            (token_hash, object_id, other_user, purpose, email, login, only_confirms, created, expires)
        select \(tokenHash), object_id, \(token.other?.uuid)::uuid, \(purpose.rawValue), \(token.email), \(token.login),
            \(token.onlyConfirms), clock_timestamp(), now() + make_interval(secs => \(purpose.seconds))
        from \(identifier: application.schema).users where object_id = \(token.user.uuid)
        """
    }

    /// Returns the token of a valid link without using it up; nil when the link is invalid.
    package func emailToken(
        tokenHash: [UInt8],
        for purpose: EmailTokenPurpose,
        of application: Application
    ) async throws(Failure) -> EmailToken? {
        let result = try await query(
            """
            select e.object_id, e.other_user, e.email, e.login, e.only_confirms
            from \(identifier: application.schema).email_proofs e
            where \(Self.counts(tokenHash, purpose)) and (
                select u.user_status <> 'DISABLED' and (
                    e.purpose in ('reversal', 'mergeReversal', 'newAddress') or u.email = e.email
                )
                from \(identifier: application.schema).users u where u.object_id = e.object_id
            )
            """,
            of: application
        )
        return try result.first(into: EmailToken.init)
    }

    /// Returns the purpose and the addresses of a valid link, without using it up.
    ///
    /// - Parameters:
    ///   - tokenHash: SHA-256 of the link's token.
    ///   - purposes: The purposes that the link may have.
    ///   - application: The application of the user.
    /// - Returns: The purpose, the address to which the link was mailed, and the user's address; nil when no such link
    ///   is valid.
    /// - Throws: `store_unavailable` and similar failures.
    package func mailedLink(
        tokenHash: [UInt8],
        among purposes: [EmailTokenPurpose],
        of application: Application
    ) async throws(Failure) -> (purpose: EmailTokenPurpose, email: String, present: String?)? {
        let result = try await query(
            """
            select e.purpose, e.email, u.email
            from \(identifier: application.schema).email_proofs e
            join \(identifier: application.schema).users u using (object_id)
            where e.token_hash = \(tokenHash) and e.purpose = any(\(purposes.map(\.rawValue))) and e.expires > now()
                and u.user_status <> 'DISABLED' and (e.purpose = 'newAddress' or u.email = e.email)
            """,
            of: application
        )
        return try result.first(String.self, String.self, String?.self).flatMap { purpose, email, present in
            EmailTokenPurpose(rawValue: purpose).map { ($0, email, present) }
        }
    }

    /// Returns whether a user's password has changed since a time, or an administrator has ended the user's sessions.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - seconds: Unix seconds. Events within this second do not count.
    ///   - application: The application of the user.
    /// - Returns: Whether either has happened.
    /// - Throws: `store_unavailable` and similar failures.
    package func hasChangedAccess(
        of user: ObjectID,
        since seconds: Int64,
        in application: Application
    ) async throws(Failure) -> Bool {
        let moment = Timestamp(milliseconds: (seconds + 1) * 1000)
        let result = try await query(
            """
            select from \(identifier: application.schema).passwords p
            left join \(identifier: application.schema).firebase_users f using (object_id)
            where p.object_id = \(user.uuid) and (p.changed >= \(moment) or f.valid_since >= \(moment))
            """,
            of: application
        )
        return result.count == 1
    }

    /// Returns whether a user has identities of providers.
    package func hasIdentities(_ user: ObjectID, in application: Application) async throws(Failure) -> Bool {
        let result = try await query(
            "select from \(identifier: application.schema).identities where object_id = \(user.uuid) limit 1",
            of: application
        )
        return result.count == 1
    }

    static func counts(_ tokenHash: [UInt8], _ purpose: EmailTokenPurpose) -> Statement {
        "e.token_hash = \(tokenHash) and e.purpose = \(purpose.rawValue) and e.expires > now()"
    }

    /// Returns the CTEs that lock the row of a mailed link's user, delete the link and confirm the user's e-mail
    /// address.
    ///
    /// If the statement with these CTEs is the first of its transaction, the link is single-use.
    static func taking(
        _ tokenHash: [UInt8],
        _ purpose: EmailTokenPurpose,
        of application: Application,
        if condition: Statement = "true"
    ) -> Statement {
        let isReversal = purpose == .reversal
        let isTheirs: Statement = isReversal ? "true" : "u.email = (select link.email from link)"
        let identity = application.settings.identityProperty
        let restoringLogin: Statement =
            identity == .email
            ? ""
            : """
            \(identifier: identity.text) = coalesce((select link.login from link), u.\(identifier: identity.text)),
            """
        let restoring: Statement =
            isReversal ? "email = (select link.email from link), \(restoringLogin) updated = now()," : ""
        return """
            link as (
                select e.object_id, e.email, e.login, e.created from \(identifier: application.schema).email_proofs e
                where \(counts(tokenHash, purpose))
            ), person as (
                select u.object_id from \(identifier: application.schema).users u
                where u.object_id = (select link.object_id from link) and \(isTheirs) and u.user_status <> 'DISABLED'
                    and \(condition)
                for update of u
            ), used as (
                delete from \(identifier: application.schema).email_proofs
                where token_hash = \(tokenHash) and object_id = (select person.object_id from person) returning object_id
            ), verified as (
                update \(identifier: application.schema).users u set \(restoring) email_verified = true, user_status = case u.user_status
                    when 'EMAIL_CONFIRMATION_PENDING' then 'ENABLED' else u.user_status end
                where u.object_id = (select used.object_id from used)
            )
            """
    }
}

extension Failure {
    package static let linkInvalid = Failure(
        .linkInvalid,
        "This link has been used, has expired, or is not complete. Request another mail."
    )
}
