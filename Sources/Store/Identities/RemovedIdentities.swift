import Domain
import FoundationEssentials
import Postgres

extension PostgresConnection {
    /// Records identities that are about to be removed from a user, if a reversal link could restore them.
    ///
    /// The user's row must be locked.
    ///
    /// - Parameters:
    ///   - identities: The condition for rows `i` of `identities`.
    ///   - user: The user.
    ///   - schema: The application's schema.
    /// - Throws: The database's error.
    func noteRemoval(
        of identities: Statement,
        from user: ObjectID,
        schema: String
    ) async throws(PostgresError) {
        _ = try await query(
            """
            insert into \(identifier: schema).removed_identities as r
                (provider, provider_app, subject, object_id, created, removed)
            select i.provider, i.provider_app, i.subject, i.object_id, i.created, clock_timestamp()
            from \(identifier: schema).identities i
            where i.object_id = \(user.uuid) and \(identities) and exists (
                select from \(identifier: schema).email_proofs e
                where e.object_id = \(user.uuid) and e.purpose in ('reversal', 'mergeReversal') and e.expires > now()
            )
            on conflict (provider, provider_app, subject, object_id) do update set removed = excluded.removed
            """
        )
    }

    /// Deletes the records of removed identities, so that no reversal link restores an identity that is being erased.
    func forgetRemoval(of identities: [IdentityKey], schema: String) async throws(PostgresError) {
        for identity in identities {
            _ = try await query("delete from \(identifier: schema).removed_identities where \(identity.condition)")
        }
    }

    /// Restores a user's identities as they were at a time.
    ///
    /// The user's row must be locked. Identities that were removed since that time are restored. An identity that was
    /// added since, or within three days before (`EmailTokenPurpose.suspicionSeconds`), is removed, or is not restored
    /// if it was removed already: an attacker who takes over an account adds identities in advance. The identity by
    /// which the user was created always stays.
    ///
    /// - Returns: The providers of the identities that could not be restored: the user has another identity at the same
    ///   app, or another user has the identity now.
    func restoreIdentities(of user: ObjectID, to moment: Statement, schema: String) async throws(PostgresError)
        -> [String]
    {
        let isOld: Statement = """
            (created <= \(moment) - make_interval(secs => \(EmailTokenPurpose.suspicionSeconds)) or created = (
                select u.created from \(identifier: schema).users u where u.object_id = \(user.uuid)
            ))
            """
        _ = try await query(
            "delete from \(identifier: schema).identities where object_id = \(user.uuid) and not \(isOld)"
        )
        let others = try await query(
            """
            with removed as (
                delete from \(identifier: schema).removed_identities
                where object_id = \(user.uuid) and removed >= \(moment)
                returning provider, provider_app, subject, object_id, created
            ), wanted as (
                select * from removed where \(isOld)
            ), restored as (
                insert into \(identifier: schema).identities (provider, provider_app, subject, object_id, created)
                select * from wanted w where not exists (
                    select from \(identifier: schema).identities i
                    where i.object_id = w.object_id and (i.provider, i.provider_app) = (w.provider, w.provider_app)
                )
                on conflict (provider, provider_app, subject) do nothing
                returning provider, provider_app, subject
            )
            select w.provider from wanted w
            where (w.provider, w.provider_app, w.subject) not in (select * from restored) and not exists (
                select from \(identifier: schema).identities i
                where i.object_id = w.object_id
                    and (i.provider, i.provider_app, i.subject) = (w.provider, w.provider_app, w.subject)
            )
            order by 1
            """
        )
        return try others.all(String.self)
    }
}
