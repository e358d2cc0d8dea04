import FoundationEssentials
import Postgres
package import Vocabulary

/// The token in a link of a mail: whoever has it reads the mail of a user's address, which so is verified, unless the
/// operator has these links made for everybody.
package struct EmailToken: Sendable {
    package let user: ObjectID
    /// The address as it was stored when the link was made; the link counts as long as it is still that of the user,
    /// and a reversal whatever that is.
    package let email: String
    /// What the identity property said when the link was made that a reversal brings back; nil where that is the
    /// address, or was nothing.
    package let login: String?
    /// Whether who has the link need not read the mail: then it confirms the address, and sets no password.
    package let onlyConfirms: Bool

    package init(user: ObjectID, email: String, login: String? = nil, onlyConfirms: Bool = false) {
        self.user = user
        self.email = email
        self.login = login
        self.onlyConfirms = onlyConfirms
    }
}

extension Store {
    /// Keeps a token by its SHA-256.
    package func addEmailToken(
        _ token: EmailToken,
        for purpose: EmailTokenPurpose,
        tokenHash: [UInt8],
        of application: Application
    ) async throws(Failure) {
        _ = try await query(Self.adding(token, for: purpose, tokenHash: tokenHash, of: application), of: application)
    }

    /// The moment is that of the statement: of changes of one user, which wait for each other, the later one has the
    /// later.
    static func adding(
        _ token: EmailToken,
        for purpose: EmailTokenPurpose,
        tokenHash: [UInt8],
        of application: Application
    ) -> Statement {
        """
        insert into \(identifier: application.schema).email_proofs
            (token_hash, object_id, purpose, email, login, only_confirms, created, expires)
        select \(tokenHash), object_id, \(purpose.rawValue), \(token.email), \(token.login), \(token.onlyConfirms),
            clock_timestamp(), now() + make_interval(secs => \(purpose.seconds))
        from \(identifier: application.schema).users where object_id = \(token.user.uuid)
        """
    }

    /// What is known of the token of a link, as long as it counts; nothing is used up.
    package func emailToken(
        tokenHash: [UInt8],
        for purpose: EmailTokenPurpose,
        of application: Application
    ) async throws(Failure) -> EmailToken? {
        let result = try await query(
            """
            select e.object_id, e.email, e.login, e.only_confirms from \(identifier: application.schema).email_proofs e
            where \(Self.counts(tokenHash, purpose)) and (
                select u.user_status <> 'DISABLED' and (e.purpose = 'reversal' or u.email = e.email)
                from \(identifier: application.schema).users u where u.object_id = e.object_id
            )
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            guard let row = result.first else { return nil }
            return EmailToken(
                user: ObjectID(try row.decode(0, as: UUID.self)),
                email: try row.decode(1, as: String.self),
                login: try row.decode(2, as: String?.self),
                onlyConfirms: try row.decode(3, as: Bool.self)
            )
        }
    }

    /// Whether a user has identities of providers.
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

    /// The user whose link it is, locked, and the link, which the first of several statements takes away: so it counts
    /// once.
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
