import Postgres
package import Vocabulary

/// Rows that have served their time; an index leads to them.
package enum Expired: Sendable, CaseIterable {
    /// Nonces, states, login codes and ID tokens that would be refused in any case.
    case singleUses
    /// Failed attempts that have no consequence any more.
    case attempts
    /// Links of mails that are too old to count.
    case emailTokens
    /// Identities that no link can bring back any more.
    case removedIdentities
    /// Second factors that were taken away, of which the same is true.
    case removedFactors
    /// What devices were trusted by.
    case trustedDevices
    /// Invitations that nobody has taken, a month after they have expired.
    case invitations
    /// Mails that were sent a day ago, and those that were given up a week ago.
    case mails
}

extension Store {
    /// Removes some expired rows; those that somebody else has locked are skipped.
    ///
    /// - Parameters:
    ///   - expired: Which ones.
    ///   - application: Whose rows.
    ///   - limit: How many at most.
    /// - Returns: How many were removed; as many as `limit` means that there may be more.
    /// - Throws: `store_unavailable` and its like.
    package func purge(
        _ expired: Expired,
        of application: Application,
        limit: Int
    ) async throws(Failure) -> Int {
        let (table, key, condition, order): (String, String, Statement, String) =
            switch expired {
            case .singleUses: ("single_use", "kind, hash", "expires <= now()", "expires")
            case .attempts:
                ("attempts", "key", "last <= now() - make_interval(secs => \(AttemptRule.accountMemory))", "last")
            case .emailTokens: ("email_proofs", "token_hash", "expires <= now()", "expires")
            case .removedIdentities:
                (
                    "removed_identities", "provider, provider_app, subject, object_id",
                    "removed <= now() - make_interval(secs => \(EmailTokenPurpose.reversal.seconds))", "removed"
                )
            case .removedFactors:
                (
                    "factors", "id",
                    "removed <= now() - make_interval(secs => \(EmailTokenPurpose.reversal.seconds))", "removed"
                )
            case .trustedDevices: ("trusted_devices", "token_hash", "expires <= now()", "expires")
            case .invitations:
                ("invitations", "id", "accepted is null and expires <= now() - interval '30 days'", "expires")
            case .mails:
                (
                    "mails", "id",
                    "done <= now() - case state when 'sent' then interval '1 day' else interval '7 days' end", "done"
                )
            }
        let rows = "\(quoted(application.schema)).\(table)"
        let result = try await query(
            """
            with dead as (
                select \(unsafeRaw: key) from \(unsafeRaw: rows) where \(condition)
                order by \(unsafeRaw: order) limit \(limit) for update skip locked
            )
            delete from \(unsafeRaw: rows) where (\(unsafeRaw: key)) in (select \(unsafeRaw: key) from dead)
            """,
            of: application
        )
        return result.affectedRows ?? 0
    }

    /// Forgets some of the kept access tokens that have come to their end.
    ///
    /// Nobody takes them any more, and nobody can exchange them. An ID token stays: it logs nobody in after its end,
    /// and our permissions are given up with it. Identities that somebody else has locked are skipped.
    ///
    /// - Parameters:
    ///   - application: Whose tokens.
    ///   - limit: How many at most.
    /// - Returns: How many were forgotten; as many as `limit` means that there may be more.
    /// - Throws: `store_unavailable` and its like.
    package func dropEndedTokens(of application: Application, limit: Int) async throws(Failure) -> Int {
        let identities = "\(quoted(application.schema)).identities"
        let result = try await query(
            """
            with ended as (
                select provider, provider_app, subject from \(unsafeRaw: identities)
                where token_kind = 'access' and token_expires <= now()
                order by token_expires limit \(limit) for no key update skip locked
            )
            update \(unsafeRaw: identities) i set \(unsafeRaw: Self.noToken) from ended
            where (i.provider, i.provider_app, i.subject) = (ended.provider, ended.provider_app, ended.subject)
            """,
            of: application
        )
        return result.affectedRows ?? 0
    }

    /// Forgets some of the kept tokens of those providers of which an application keeps none any more.
    ///
    /// - Parameters:
    ///   - application: As the caller knows it: when it has been changed since, nothing happens, since it may keep
    ///     tokens again.
    ///   - providers: Those whose tokens it keeps.
    ///   - limit: How many at most.
    /// - Returns: How many were forgotten; as many as `limit` means that there may be more.
    /// - Throws: `store_unavailable` and its like.
    package func dropTokens(
        of application: Application,
        except providers: [ProviderName],
        limit: Int
    ) async throws(Failure) -> Int {
        let identities = "\(quoted(application.schema)).identities"
        let isUnchanged = try await isUnchanged(application)
        let result = try await query(
            """
            with kept as (
                select provider, provider_app, subject from \(unsafeRaw: identities)
                where token_key_id is not null and provider <> all (\(providers.map(\.text))) and \(isUnchanged)
                limit \(limit) for no key update skip locked
            )
            update \(unsafeRaw: identities) i set \(unsafeRaw: Self.noToken) from kept
            where (i.provider, i.provider_app, i.subject) = (kept.provider, kept.provider_app, kept.subject)
            """,
            of: application
        )
        return result.affectedRows ?? 0
    }
}
