import Postgres
package import Vocabulary

extension Store {
    /// Takes identities whose check is due, for this caller alone.
    ///
    /// A claim is a lease: the next check moves forward in the same statement, so that nobody else claims the row until
    /// the lease is over, no transaction stays open while the provider is asked, and what a killed instance has claimed
    /// comes back by itself.
    ///
    /// - Parameters:
    ///   - application: Whose identities.
    ///   - provider: At which provider: each is asked at a pace of its own.
    ///   - apps: Those of the apps there about whose identities it is not to be asked.
    ///   - limit: How many at most; those that have been due for longest come first.
    ///   - leaseSeconds: How long they are the caller's.
    /// - Returns: The claimed identities. Rows that somebody else has locked are skipped.
    /// - Throws: `store_unavailable` and its like.
    package func claimIdentities(
        of application: Application,
        at provider: ProviderName,
        except apps: [ProviderAppID] = [],
        limit: Int,
        leaseSeconds: Double
    ) async throws(Failure) -> [KeptIdentity] {
        let schema = quoted(application.schema)
        let status = "(select u.user_status from \(schema).users u where u.object_id = i.object_id)"
        let result = try await query(
            """
            with due as (
                select provider, provider_app, subject from \(unsafeRaw: schema).identities
                where check_due <= now() and provider = \(provider.text) and provider_app <> all (\(apps.map(\.text)))
                order by check_due limit \(limit)
                for no key update skip locked
            )
            update \(unsafeRaw: schema).identities i
            set check_due = case when i.token is not null then now() + make_interval(secs => \(leaseSeconds)) end
            from due
            where (i.provider, i.provider_app, i.subject) = (due.provider, due.provider_app, due.subject)
            returning \(unsafeRaw: KeptIdentity.columns(of: "i", status: status))
            """,
            of: application
        )
        return try read { () throws(PostgresError) in try KeptIdentity.all(in: result) }
    }
}
