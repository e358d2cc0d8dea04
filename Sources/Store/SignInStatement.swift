package import Vocabulary
import Postgres

/// The sign-in write of one application and one mapping plan as SQL: identity, user and session in one statement, one round trip.
///
/// How it reads, CTE by CTE:
/// - `known`: the identity as it was when the statement began, for the values that the mapping wrote last;
/// - `before`: the user as it is now, locked, and what the mapping makes of it: what follows decides by these values alone, so a user
///   who is disabled or edited meanwhile is seen by all parts or by none. `identity` waits for the lock: whoever deletes a user locks
///   it first and its identities after that, and who locks in another order ends in a deadlock;
/// - `identity`: inserts the identity or touches it. The row that wins the unique key decides who the person is: a fresh
///   `object_id` comes back only from the insert that won. An identity of a disabled user is not touched and does not come back,
///   nor is one that was revoked since a credential that counts once was issued, nor one that is not the locked user's: somebody has
///   linked it to another since the statement began. One that is banned is not inserted, and neither is
///   one that was erased while the statement waited for its user: the next run sees whether that was a ban;
/// - `created`: the user, only when the identity was inserted; `changed`: else the update by the sync rules;
/// - `seen`, `nonce`: for a credential that counts once (`.once`): the first attempt that names it owns it, and only the owner's
///   statement goes on; see `SingleUse`;
/// - `session`: only for a user of the two above; when it is there already, the same login came again, or the user of a session has
///   shown once more who they are;
/// - `previous`, `surplus`: end the sessions that the login takes the place of, and the oldest of too many; see `SessionEnding`.
///
/// Each part finds its rows by a key that it has as a value, from a parameter or a scalar subquery, and joins no table: so the index of the
/// key serves it whatever the statistics say. A join would be planned by them, and where they are from a table of one row, reading the
/// whole of another costs no more than looking a row up.
///
/// A statement sees the snapshot of its own start. A login that lost the race for a new person therefore finds the winner's
/// identity but not yet the winner's user, and `person` is empty although nobody is disabled: `SignInWrite` runs it once more.
package struct SignInStatement: Sendable {
    /// A property that the plan writes, with the type of its column.
    package struct Target: Sendable {
        package let name: PropertyName
        package let type: PropertyType
        package let sync: SyncMode
        /// Whether a write may empty it.
        package let mayBeCleared: Bool

        package init(name: PropertyName, type: PropertyType, sync: SyncMode, mayBeCleared: Bool = false) {
            self.name = name
            self.type = type
            self.sync = sync
            self.mayBeCleared = mayBeCleared
        }
    }

    /// How often the credential of a login may be used.
    package enum Use: Sendable {
        /// Facebook says at each use whether it stands.
        case repeated
        /// It counts once, and using it is part of the write.
        case once
    }

    package let targets: [Target]
    package let use: Use
    let application: Application
    let provider: ProviderName
    let columns: UserColumns
    /// How the provider's token is stored with the identity.
    let tokens: TokenKeeping?
    /// The text with its placeholders.
    package let sql: String

    /// Parameters in front of those of the targets; `SignInWrite` binds them.
    private static let commonParameters = 12
    private static let tokenParameters = 4
    private static let onceParameters = 5
    /// Positions among the parameters, counted from 0, of what differs from login to login of the same person.
    package static let freshIDParameter = 2
    package static let tokenHashParameter = 3

    /// The same, of what counts once; only where `use` is `once`.
    package var credentialHashParameter: Int { Self.commonParameters + (keepsToken ? Self.tokenParameters : 0) }

    var keepsToken: Bool { tokens != nil }

    /// Generates the statement.
    ///
    /// - Parameters:
    ///   - application: gives the schema and the columns that come back.
    ///   - provider: whose credential it is.
    ///   - tokens: how the provider's token is stored with the identity; nil where it is not.
    ///   - targets: what the mapping plan writes, each a declared property, none twice.
    ///   - use: of which kind of credential the login is.
    package init(
        application: Application,
        provider: ProviderName,
        tokens: TokenKeeping?,
        targets: [Target],
        use: Use = .repeated
    ) {
        self.tokens = tokens
        self.targets = targets
        self.use = use
        self.application = application
        self.provider = provider
        columns = UserColumns(application: application)
        sql = Self.generate(
            application: application,
            provider: provider,
            tokens: tokens,
            targets: targets,
            use: use,
            columns: columns
        )
    }

    private static func generate(
        application: Application,
        provider: ProviderName,
        tokens: TokenKeeping?,
        targets: [Target],
        use: Use,
        columns: UserColumns
    ) -> String {
        let schema = quoted(application.schema)
        let provider = (name: literal(provider.text), account: literal(provider.socialAccount))
        let firstOnce = commonParameters + (tokens == nil ? 0 : tokenParameters) + 1
        let firstTarget = firstOnce + (use == .once ? onceParameters : 0)
        let writes = PropertyWrites(
            targets: targets,
            firstParameter: firstTarget,
            dynamic: "$8",
            cleared: "$12",
            written: "(select known.written from known)",
            schema: application.schema
        )

        let ending = SessionEnding(application: application, opened: "$4", previous: "$9").expressions

        let token = tokens.map { tokenColumns(first: commonParameters + 1, $0) } ?? []
        let once = use == .once ? singleUse(of: application, provider: provider.name, first: firstOnce) : nil
        let isBanned =
            "exists (select from \(schema).single_use where kind = 'banned' and hash = $11 and expires > now())"
        let wasThere = """
            exists (
                select from \(schema).identities
                where provider = \(provider.name) and provider_app = $1 and subject = $2
            )
            """

        return """
            with \(once?.expressions ?? "")known as (
                select i.object_id, i.written from \(schema).identities i
                where i.provider = \(provider.name) and i.provider_app = $1 and i.subject = $2
            ), before as (
                select u.user_status as status\(writes.current)
                from \(schema).users u where u.object_id = (select known.object_id from known)
                for no key update of u
            ), identity as (
                insert into \(schema).identities as i
                    (provider, provider_app, subject, object_id, granted_scopes, declined_scopes, data_access_expires,
                        written\(token.map { ", " + $0.column }.joined()))
                select \(provider.name), $1, $2, $3, coalesce($6, '{}'), coalesce($10, '{}'), $7,
                    \(writes.firstWritten)\(token.map { ", " + $0.value }.joined())
                from (select) one left join before on true
                where before.status is distinct from 'DISABLED'
                    and (before.status is not null or not \(isBanned) and not \(wasThere))\(once.map { " and \($0.isOwner)" } ?? "")
                on conflict (provider, provider_app, subject) do update set
                    last_used = now(), revoked = null, revoked_by = null,
                    granted_scopes = coalesce($6, i.granted_scopes), declined_scopes = coalesce($10, i.declined_scopes),
                    data_access_expires = case when $6 is null then i.data_access_expires else $7 end\(
                        token.map { ", \($0.column) = excluded.\($0.column)" }.joined())\(
                        writes.nextWritten.map { ", written = " + $0 } ?? "")
                where i.object_id = (select known.object_id from known)\(
                        once.map { " and (i.revoked is null or i.revoked < \($0.issued))" } ?? "")
                returning i.object_id, i.object_id = $3 as is_new
            ), created as (
                insert into \(schema).users as u (object_id, social_account, last_login, dynamic\(
                    writes.columns))
                select object_id, \(provider.account), now(), $8\(writes.values)
                from identity where is_new
                returning \(columns.list(of: "u"))
            ), changed as (
                update \(schema).users u set last_login = now(), \(writes.assignments)
                from before
                where u.object_id = (select identity.object_id from identity where not identity.is_new)
                    and u.user_status <> 'DISABLED'
                returning \(columns.list(of: "u"))
            ), person as (
                select true as is_new, * from created union all select \(once?.wasCreated ?? "false"), * from changed
            ), session as (
                insert into \(schema).sessions as s (token_hash, object_id, expires, provider, provider_app, subject)
                select $4, object_id, now() + make_interval(secs => $5), \(provider.name), $1, $2 from person
                on conflict (token_hash) do update set proved = now() where s.object_id = excluded.object_id
            ), \(ending)
            select case when person.object_id is not null then null
                    \(once?.refusals ?? "")when (select before.status from before) = 'DISABLED' or \(isBanned)
                        then '\(Refusal.disabled.rawValue)' end as refusal, person.*, previous.ended
            from (select) one left join person on true left join previous on true
            """
    }

    /// Why the statement wrote no user, in its first column; without one, and without a user, it has to run again.
    enum Refusal: String {
        case disabled
        case replayed
        case nonceUnusable
        /// The provider issued it before it ended our access.
        case ended
    }

    /// The columns of a kept token, and when Facebook is to be asked about it: after a day, or soon where the token is to be
    /// exchanged for one that lives longer.
    private static func tokenColumns(
        first: Int,
        _ keeping: TokenKeeping
    ) -> [(column: String, value: String)] {
        let (kind, expires) = ("$\(first + 2)::text", "$\(first + 3)::timestamptz")
        let day = "now() + interval '1 day'"
        let isShort = "\(expires) < now() + make_interval(secs => \(KeptIdentity.shortLife))"
        let soon = keeping == .exchanged ? "when \(isShort) then now() " : ""
        return [
            ("token", "$\(first)::bytea"), ("token_key_id", "$\(first + 1)::text"), ("token_kind", kind),
            ("token_expires", expires),
            ("check_due", "case when \(kind) is distinct from 'access' then null \(soon)else \(day) end"),
            ("checked", "now()"), ("refreshed", "now()"),
        ]
    }

    /// The part of the statement that lets one attempt alone use a credential.
    ///
    /// Parameters: the credential's hash, the seconds for which it is remembered, the attempt, the hash of the nonce that
    /// was given out for it, if it needs one, and the time of its issue. The same attempt may come again, for a minute: it
    /// lost the race for a new person, or its client lost the reply. A user who was created when the credential was first
    /// seen is one whom this attempt created: both times are those of one statement.
    /// What the provider issued before it ended our access is refused. A new person's statement may have waited for an erasure,
    /// which it sees only through a function.
    private static func singleUse(
        of application: Application,
        provider: String,
        first: Int
    ) -> (expressions: String, isOwner: String, issued: String, wasCreated: String, refusals: String) {
        let schema = quoted(application.schema)
        let (hash, seconds, owner, nonce) = ("$\(first)", "$\(first + 1)", "$\(first + 2)", "$\(first + 3)::bytea")
        // Providers tell the time of issue in whole seconds: what began in the second of the end counts as later.
        let issued = "$\(first + 4)::timestamptz + interval '1 second'"
        let expressions = """
            seen as (
                insert into \(schema).single_use as s (kind, hash, owner, used, expires)
                values ('idToken', \(hash), \(owner), now(), now() + make_interval(secs => \(seconds)))
                on conflict (kind, hash) do update set owner = s.owner
                where s.owner = excluded.owner and s.used > now() - interval '60 seconds'
                returning s.created
            ), nonce as (
                insert into \(schema).single_use as s (kind, hash, owner, used, expires)
                select 'nonce', \(nonce), \(owner), now(), now() + make_interval(secs => \(seconds)) where \(nonce) is not null
                on conflict (kind, hash) do update set owner = s.owner where s.owner = excluded.owner
                returning true
            ),\u{20}
            """
        let isSeen = "exists (select from seen)"
        let mayUseNonce = "(\(nonce) is null or exists (select from nonce))"
        let identity = "federation.identity_hash(\(provider), $1, $2)"
        let hasEnded = """
            exists (
                select from \(schema).single_use s
                where s.kind = 'ended' and s.hash = \(identity) and s.created >= \(issued)
            )
            """
        return (
            expressions,
            """
            \(isSeen) and \(mayUseNonce) and not case when before.status is null
                then federation.has_ended(\(literal(application.schema)), \(identity), \(issued)) else \(hasEnded) end
            """,
            issued,
            "exists (select from seen where seen.created = changed.created)",
            """
            when not \(isSeen) then '\(Refusal.replayed.rawValue)'
            when not \(mayUseNonce) then '\(Refusal.nonceUnusable.rawValue)'
            when \(hasEnded) or exists (
                select from \(schema).identities i
                where i.provider = \(provider) and i.provider_app = $1 and i.subject = $2 and i.revoked >= \(issued)
            ) then '\(Refusal.ended.rawValue)'\u{20}
            """
        )
    }
}

/// Quotes an identifier, which comes from declared names only.
func quoted(_ identifier: String) -> String { Statement.quoted(identifier: identifier) }

/// Quotes a text of the configuration as a text literal.
func literal(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
}

/// Quotes a declared name as a text literal: it holds letters, digits and underscores only.
func literal(_ name: PropertyName) -> String { "'" + name.text + "'" }
