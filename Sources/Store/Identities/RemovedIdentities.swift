import FoundationEssentials
import Postgres
import Vocabulary

extension PostgresConnection {
    /// Keeps which identities are about to be taken from a user who is locked, while a link is out that could bring
    /// them back.
    ///
    /// - Parameters:
    ///   - identities: The condition on rows `i` of `identities`.
    ///   - user: Whose they are.
    ///   - schema: The application's schema.
    /// - Throws: What the database has against it.
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
                where e.object_id = \(user.uuid) and e.purpose = 'reversal' and e.expires > now()
            )
            on conflict (provider, provider_app, subject, object_id) do update set removed = excluded.removed
            """
        )
    }

    /// Forgets whose identities have been: they are being erased, and nothing brings them back.
    func forgetRemoval(of identities: [IdentityKey], schema: String) async throws(PostgresError) {
        for identity in identities {
            _ = try await query("delete from \(identifier: schema).removed_identities where \(identity.condition)")
        }
    }

    /// Gives a user who is locked the identities of a moment back.
    ///
    /// That is what has been taken since, and nothing that came later than three days before it, since whoever takes an
    /// account over brings their own along first. What the user came by stays in any case.
    ///
    /// - Returns: The providers of those in whose place others are, and of those that are somebody else's by now.
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
        var providers: [String] = []
        for row in others.rows { providers.append(try row.decode(0, as: String.self)) }
        return providers
    }
}
