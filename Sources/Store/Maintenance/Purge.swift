package import Domain
import Postgres

/// A kind of expired rows that a purge deletes.
///
/// An index finds the rows of each kind.
package enum Expired: Sendable, CaseIterable {
    /// Expired rows of the table `single_use`, such as used nonces, unused login codes and bans.
    case singleUses
    /// Failed attempts that no longer count.
    case attempts
    /// Expired tokens of mailed links.
    case emailTokens
    /// Removed identities that no link can restore any more.
    case removedIdentities
    /// Removed second factors that no link can restore any more.
    case removedFactors
    /// Expired trust in devices.
    case trustedDevices
    /// Invitations that no user accepted, and that expired more than 30 days ago.
    case invitations
    /// Mails that were sent more than a day ago, and mails that were given up more than a week ago.
    case mails
}

extension Store {
    /// Deletes some expired rows, skipping rows that other transactions have locked.
    ///
    /// - Parameters:
    ///   - expired: The kind of rows.
    ///   - application: The application of the rows.
    ///   - limit: The maximum number of rows.
    /// - Returns: The number of deleted rows; when it equals `limit`, more may be left.
    /// - Throws: `store_unavailable` and similar failures.
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
        return result.affectedRows
    }

    /// Forgets some merges: those that cannot be undone any more lose their records, and those whose time is over are
    /// deleted.
    ///
    /// The login log then forgets the merged users, too.
    ///
    /// - Returns: The number of merges; when it equals `limit`, more may be left.
    /// - Throws: `store_unavailable` and similar failures.
    package func forgetMerges(of application: Application, limit: Int) async throws(Failure) -> Int {
        let table: Statement = "\(identifier: application.schema).merged_users"
        let tables = tables(of: application)
        return try await transaction(in: tables) { connection in
            let final = try await connection.query(
                """
                with final as (
                    select object_id from \(table) where record_key_id is not null and undo_until <= now()
                    order by undo_until limit \(limit) for update skip locked
                )
                update \(table) m set record = null, record_key_id = null from final where m.object_id = final.object_id
                """
            )
            let over = try await connection.query(
                """
                with over as (
                    select object_id from \(table) where expires <= now()
                    order by expires limit \(limit) for update skip locked
                )
                delete from \(table) m using over where m.object_id = over.object_id returning m.object_id
                """
            ).all(ObjectID.self)
            try await tables.forgetLogins(of: over, in: application.id, with: connection)
            return max(final.affectedRows ?? 0, over.count)
        }
    }

    /// Deletes some of the stored access tokens that have expired.
    ///
    /// No provider accepts or exchanges them any more. Expired ID tokens stay: they cannot be used to log in, but the
    /// app's permissions can be removed by them. Identities locked by other transactions are skipped.
    ///
    /// - Parameters:
    ///   - application: The application of the tokens.
    ///   - limit: The maximum number of tokens.
    /// - Returns: The number of deleted tokens; when it equals `limit`, more may be left.
    /// - Throws: `store_unavailable` and similar failures.
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
        return result.affectedRows
    }

    /// Deletes some stored tokens of providers for which an application no longer stores tokens.
    ///
    /// - Parameters:
    ///   - application: The application as the caller read it. If it has changed since, nothing is deleted: it may
    ///     store tokens again.
    ///   - providers: The providers whose tokens the application stores.
    ///   - limit: The maximum number of tokens.
    /// - Returns: The number of deleted tokens; when it equals `limit`, more may be left.
    /// - Throws: `store_unavailable` and similar failures.
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
        return result.affectedRows
    }
}

extension Store {
    /// The number of PostgreSQL pages in one part of the sessions table.
    ///
    /// These pages contain about five hundred sessions. A purge locks the expired ones of a single part at a time, so
    /// that a simultaneous revocation of one of them does not wait long.
    private static let pagesOfPart = 8

    /// Returns the number of parts of an application's sessions table.
    ///
    /// - Returns: The number of parts, as ``removeEndedSessions(inPart:of:)`` counts them; 0 when there is no session.
    /// - Throws: `store_unavailable` and similar failures.
    package func partsOfSessions(of application: Application) async throws(Failure) -> Int {
        // `tableoid` is the table of the row, whatever the table's name on a node of Citus. The index finds a visible
        // row.
        let result = try await query(
            """
            select pg_relation_size(tableoid) / current_setting('block_size')::bigint
            from \(identifier: application.schema).sessions order by token_hash limit 1
            """,
            of: application
        )
        return ((try result.first(Int.self) ?? 0) + Self.pagesOfPart - 1) / Self.pagesOfPart
    }

    /// Deletes the expired sessions from one part of the sessions table.
    ///
    /// Sessions locked by other transactions are skipped. A part beyond the end of the table is empty.
    ///
    /// There is no index of expired sessions, since every login and every update of a session's last use would have to
    /// update the index. So the part is scanned page by page.
    ///
    /// - Parameters:
    ///   - part: The number of the part, from 0.
    ///   - application: The application of the sessions.
    /// - Returns: The number of deleted sessions.
    /// - Throws: `store_unavailable` and similar failures.
    package func removeEndedSessions(inPart part: Int, of application: Application) async throws(Failure) -> Int {
        let sessions = "\(quoted(application.schema)).sessions"
        let (first, end) = (part * Self.pagesOfPart, (part + 1) * Self.pagesOfPart)
        // An update moves a row. If a row was updated before it was locked, this statement sees no row at the former
        // `ctid`.
        let result = try await query(
            """
            with dead as (
                select s.ctid as place from \(unsafeRaw: sessions) s
                where s.ctid >= \("(\(first),0)")::tid and s.ctid < \("(\(end),0)")::tid
                    and not \(unsafeRaw: application.isLive("s"))
                for update skip locked
            )
            delete from \(unsafeRaw: sessions) where ctid = any (array(select place from dead))
            """,
            of: application
        )
        return result.affectedRows
    }
}
