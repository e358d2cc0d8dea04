import Postgres
import Vocabulary

extension PostgresConnection {
    /// Notes that what the provider issued for some identities before a moment counts no more.
    ///
    /// An ID token is good for an hour after its issue; the second hour is for clocks that differ. An earlier moment
    /// than the one that is noted changes nothing.
    ///
    /// - Parameters:
    ///   - identities: Rows of `provider`, `provider_app` and `subject`.
    ///   - moment: Unix seconds; nil for this moment.
    ///   - schema: The application's schema.
    /// - Throws: What the database has against it.
    func endAccess(
        of identities: Statement,
        at moment: Int64?,
        schema: String
    ) async throws(PostgresError) {
        _ = try await query(
            """
            insert into \(identifier: schema).single_use as s (kind, hash, created, expires)
            select 'ended', federation.identity_hash(i.provider, i.app, i.subject), ended.moment, ended.moment + interval '2 hours'
            from (\(identities)) i (provider, app, subject),
                (select least(now(), \(bind: .moment(moment))) as moment) ended
            where ended.moment > now() - interval '2 hours'
            on conflict (kind, hash) do update set created = excluded.created, expires = excluded.expires
            where s.created < excluded.created
            """
        )
    }
}

extension IdentityKey {
    /// The identity as a row for `endAccess`.
    var row: Statement { "values (\(provider.text), \(app.text), \(subject.text))" }
}
