import Domain
import Encodings
import Postgres

/// Builds the SQL text of a `LoginStatement` from its parts.
struct LoginText {
    private let form: LoginStatement.Form
    private let isOnce: Bool
    private let isFinishing: Bool
    private let once: SingleUseStep<LoginWrite>
    private let factor: FactorStep<LoginWrite>?
    private let ending: SessionEnding<LoginWrite>
    private let family: RefreshFamilyStep<LoginWrite>?
    private let columns: String
    private let writes: PropertyWrites<LoginWrite>
    private let schema: SQL<LoginWrite>

    init(_ form: LoginStatement.Form) {
        let (application, use) = (form.application, form.use)
        self.form = form
        isOnce = use != .repeated
        isFinishing = use.finishes != nil
        let once = SingleUseStep<LoginWrite>(
            schema: "\(identifier: application.schema)",
            kind: isFinishing ? .pendingLogin : .credential,
            once: \.once
        )
        self.once = once
        factor =
            if let evidence = use.finishes {
                FactorStep(
                    finishing: application,
                    by: evidence,
                    user: "(select before.object_id from before)",
                    proof: \.factor,
                    opened: .tokenHash,
                    isFresh: SingleUseStep<LoginWrite>.isFresh
                )
            } else if form.asksForFactor {
                FactorStep(
                    asking: application,
                    method: form.provider,
                    user: "(select known.object_id from known)",
                    deviceHash: \.deviceHash
                )
            } else {
                nil
            }
        ending = SessionEnding(application: application, opened: .tokenHash, previous: .previousTokenHash)
        family =
            form.opensRefreshFamily ? RefreshFamilyStep(application: application, secret: \.refreshToken) : nil
        columns = UserColumns(application: application).list(of: "u")
        schema = "\(identifier: application.schema)"
        writes = PropertyWrites(
            targets: form.targets,
            values: \.values,
            dynamic: "\(.dynamic)",
            cleared: .cleared,
            written: "(select known.written from known)",
            application: application
        )
    }

    var statement: SQL<LoginWrite> {
        var expressions = (isOnce ? [once.expression] : []) + (usesNonce ? [nonce] : []) + [known, before]
        if let room { expressions.append(room) }
        if let factor { expressions.append(factor.expressions(if: conditions)) }
        expressions += [identity, created, changed, verified, session, ending.expressions]
        if let consequences = factor?.consequences { expressions.append(consequences) }
        if let family { expressions.append(family.expression) }
        var refusals = isOnce ? onceRefusals : []
        if form.refusesUnknown { refusals.append("when not exists (select from known) then \(Self.word(.unknown))") }
        refusals.append(
            """
            when (select before.status from before) = 'DISABLED' or \(isBanned)
                then \(Self.word(.disabled))
            """
        )
        if !form.admitsNew { refusals.append("when not exists (select from known) then \(Self.word(.closed))") }
        if room != nil {
            refusals.append("when (select room.room from room) is false then \(Self.word(.excess))")
        }
        if let factor { refusals.append(factor.refusal) }
        return """
            with \(expressions.joined(separator: ", "))
            select
                case
                    when person.object_id is not null then null
                    \(refusals.joined(separator: "\n"))
                end as refusal,
                person.*\(family?.columns ?? ""), previous.ended
            from (select) one left join person on true left join previous on true\(family?.join ?? "")
            """
    }

    private var provider: ProviderName { form.provider }

    private var room: SQL<LoginWrite>? { ending.room(of: "before") }

    /// Returns the SQL condition that a row of `identities` is the identity of this login.
    ///
    /// `row` is the alias of `identities` with a dot, or empty.
    private func isIdentity(_ row: String = "") -> SQL<LoginWrite> {
        let row: SQL<LoginWrite> = "\(unsafeRaw: row)"
        return """
            \(row)provider = \(literal: provider.text) and \(row)provider_app = \(.app) and \(row)subject = \(.subject)
            """
    }

    private static func word(_ refusal: LoginStatement.Refusal) -> SQL<LoginWrite> {
        "\(literal: refusal.rawValue)"
    }

    // MARK: The identity

    private var known: SQL<LoginWrite> {
        """
        known as (
            select i.object_id, i.written from \(schema).identities i
            where \(isIdentity("i."))
        )
        """
    }

    private var before: SQL<LoginWrite> {
        let status: [SQL<LoginWrite>] = ["u.user_status as status"]
        let id: [SQL<LoginWrite>] = room == nil && factor == nil ? [] : ["u.object_id"]
        return """
            before as (
                select
                    \((status + id + writes.current).joined(separator: ",\n"))
                from \(schema).users u where u.object_id = (select known.object_id from known)
                for no key update of u
            )
            """
    }

    private var identity: SQL<LoginWrite> {
        let token = form.tokens.map(Self.tokenColumns) ?? []
        let tokenNames = token.map { ", \($0.column)" as SQL<LoginWrite> }.joined(separator: "")
        let tokenValues = token.map { ",\n\($0.value)" as SQL<LoginWrite> }.joined(separator: "")
        // A login without a token leaves the stored one: a refresh token outlives logins by ID token.
        var changes = token.map { column, _ in
            "\(column) = case when excluded.token is null then i.\(column) else excluded.\(column) end"
                as SQL<LoginWrite>
        }
        if let written = writes.nextWritten { changes.append("written = \(written)") }
        let conditions = (factor?.requirements(beside: conditions) ?? conditions)
            .map { "\nand \($0)" as SQL<LoginWrite> }.joined(separator: "")
        let stands: SQL<LoginWrite> = isOnce ? "\n    and (i.revoked is null or i.revoked < \(Self.issued))" : ""
        return """
            identity as (
                insert into \(schema).identities as i
                    (provider, provider_app, subject, object_id, granted_scopes, declined_scopes, data_access_expires,
                        written\(tokenNames))
                select
                    \(literal: provider.text), \(.app), \(.subject), \(.freshID),
                    coalesce(\(.scopes), '{}'), coalesce(\(.declinedScopes), '{}'), \(.dataAccessExpires),
                    \(writes.firstWritten)\(tokenValues)
                from (select) one left join before on true
                where before.status is distinct from 'DISABLED'
                    and (
                        before.status is not null\(mayBeNew)
                    )\(conditions)
                on conflict (provider, provider_app, subject) do update set
                    last_used = now(), revoked = null, revoked_by = null,
                    granted_scopes = coalesce(\(.scopes), i.granted_scopes),
                    declined_scopes = coalesce(\(.declinedScopes), i.declined_scopes),
                    data_access_expires = case when \(.scopes) is null then i.data_access_expires else \(.dataAccessExpires) end\(
                        changes.map { ",\n\($0)" as SQL<LoginWrite> }.joined(separator: ""))
                where i.object_id = (select known.object_id from known)\(stands)
                returning i.object_id, i.object_id = \(.freshID) as is_new
            )
            """
    }

    /// The SQL conditions that must all hold, or else the statement writes no identity, no user and no session.
    private var conditions: [SQL<LoginWrite>] {
        (isOnce ? [isOwner] : []) + (room == nil ? [] : ["(select room.room from room) is not false"])
            + (isFinishing ? finishingConditions : [])
    }

    /// The SQL conditions under which the statement completes a pending login.
    ///
    /// The pending login is void if the user has been disabled or the password has changed meanwhile. A password reset
    /// revokes all sessions, so it must end pending logins, too.
    private var finishingConditions: [SQL<LoginWrite>] {
        [
            "(select before.status from before) is distinct from 'DISABLED'",
            """
            not exists (
                select from \(schema).passwords p
                where p.object_id = (select before.object_id from before) and p.changed >= \(Self.issued)
            )
            """,
        ]
    }

    private var isBanned: SQL<LoginWrite> {
        """
        exists (
            select from \(schema).single_use
            where kind = 'banned' and hash = \(.banHash) and expires > now()
        )
        """
    }

    /// The SQL `or …` that lets an unknown identity get a new user; empty if the login may create no user.
    private var mayBeNew: SQL<LoginWrite> {
        !form.admitsNew || form.refusesUnknown ? "" : "\nor not \(isBanned) and not \(wasThere)"
    }

    private var wasThere: SQL<LoginWrite> {
        """
        exists (
            select from \(schema).identities
            where \(isIdentity())
        )
        """
    }

    /// Returns the columns that store a provider's token, with their SQL values.
    ///
    /// They include the time of the token's next check at the provider. The check is due after a day. It is due at once
    /// if the token is to be exchanged for one that lives longer. An ID token is not checked.
    private static func tokenColumns(
        _ keeping: TokenKeeping
    ) -> [(column: SQL<LoginWrite>, value: SQL<LoginWrite>)] {
        let isShort: SQL<LoginWrite> =
            "\(.tokenExpires) < now() + make_interval(secs => \(unsafeRaw: String(KeptIdentity.shortLife)))"
        let soon: SQL<LoginWrite> = keeping == .exchanged ? "when \(isShort) then now() " : ""
        return [
            ("token", "\(.token)"), ("token_key_id", "\(.tokenKeyID)"), ("token_kind", "\(.tokenKind)"),
            ("token_expires", "\(.tokenExpires)"),
            (
                "check_due",
                """
                case when coalesce(\(.tokenKind), 'id') = 'id' then null \(soon)else now() + interval '1 day' end
                """
            ),
            ("checked", "now()"), ("refreshed", "now()"),
        ]
    }

    // MARK: The user and the session

    private var created: SQL<LoginWrite> {
        let names: [SQL<LoginWrite>] = ["object_id", "social_account", "last_login", "dynamic"] + writes.columns
        let values: [SQL<LoginWrite>] =
            ["object_id", "\(literal: provider.socialAccount)", "now()", "\(.dynamic)"] + writes.values
        return """
            created as (
                insert into \(schema).users as u
                    (\(names.joined(separator: ", ")))
                select \(values.joined(separator: ", "))
                from identity where is_new
                returning \(unsafeRaw: columns)
            )
            """
    }

    private var changed: SQL<LoginWrite> {
        """
        changed as (
            update \(schema).users u set
                last_login = now(),
                \(writes.assignments.joined(separator: ",\n"))
            from before
            where u.object_id = (select identity.object_id from identity where not identity.is_new)
                and u.user_status <> 'DISABLED'
            returning \(unsafeRaw: columns)
        )
        """
    }

    private var verified: SQL<LoginWrite> {
        // If the user's creation and the credential's first use have the same time, one statement wrote both. Then this
        // login attempt has created the user.
        let isNew: SQL<LoginWrite> =
            isOnce ? "exists (select from seen where seen.created = changed.created)" : "false"
        return """
            person as (
                select true as is_new, * from created
                union all
                select \(isNew), * from changed
            )
            """
    }

    private var session: SQL<LoginWrite> {
        let shown = factor?.sessionColumns ?? []
        let names = shown.map { ", \($0.name)" as SQL<LoginWrite> }.joined(separator: "")
        let values = shown.map { ",\n\($0.value)" as SQL<LoginWrite> }.joined(separator: "")
        let again = shown.map { ", \($0.name) = excluded.\($0.name)" as SQL<LoginWrite> }.joined(separator: "")
        return """
            session as (
                insert into \(schema).sessions as s
                    (token_hash, object_id, expires, provider, provider_app, subject, provider_session\(names))
                select
                    \(.tokenHash), object_id, now() + make_interval(secs => \(.sessionSeconds)),
                    \(literal: provider.text), \(.app), \(.subject),
                    \(.providerSession)\(values)
                from person
                on conflict (token_hash) do update set proved = now()\(again) where s.object_id = excluded.object_id\(
                    family?.returning ?? "")
            )
            """
    }
}

// MARK: - Single use

/// Generates the SQL that lets only one login attempt use a single-use credential (`SingleUseStep`).
///
/// The SQL also refuses a credential that was issued before the app lost its access to the identity, for example
/// because the user was erased. The erasure of an identity's former user may be committed while the statement waits to
/// create a new user. The statement's own snapshot does not show that erasure, but the function `federation.has_ended`
/// sees it.
extension LoginText {
    private var nonce: SQL<LoginWrite> { once.nonce(.nonceHash).expression }

    /// Whether the login statement uses up the credential's nonce.
    ///
    /// The statement that completes a pending login does not: the login's first statement has already used up the
    /// nonce.
    private var usesNonce: Bool { isOnce && !isFinishing }

    private var mayUseNonce: SQL<LoginWrite> { once.nonce(.nonceHash).isFirst }

    private var isOwner: SQL<LoginWrite> {
        let schema = form.application.schema
        return """
            \(once.isFirst)\(usesNonce ? "\nand \(mayUseNonce)" : "")
            and not case
                when (select before.status from before) is null
                    then federation.has_ended(\(literal: schema), \(identityHash), \(Self.issued))
                        or \(.providerSession) is not null
                            and federation.has_ended(\(literal: schema), \(.providerSession), \(Self.issued))
                else \(hasEnded)
            end
            """
    }

    /// The SQL for the time at which the credential was issued, plus a second.
    ///
    /// Providers report the time in whole seconds. A credential may have been issued in the very second in which the
    /// app lost its access to the identity. It counts as issued after the loss.
    private static var issued: SQL<LoginWrite> { "\(.issued) + interval '1 second'" }

    private var identityHash: SQL<LoginWrite> {
        "federation.identity_hash(\(literal: provider.text), \(.app), \(.subject))"
    }

    private var hasEnded: SQL<LoginWrite> {
        """
        exists (
            select from \(schema).single_use s
            where s.kind = 'ended' and s.hash = any (array[\(identityHash), \(.providerSession)])
                and s.created >= \(Self.issued)
        )
        """
    }

    private var onceRefusals: [SQL<LoginWrite>] {
        ["when not \(once.isFirst) then \(Self.word(.replayed))"]
            + (usesNonce ? ["when not \(mayUseNonce) then \(Self.word(.nonceUnusable))"] : []) + [
                """
                when \(hasEnded) or exists (
                    select from \(schema).identities i
                    where \(isIdentity("i.")) and i.revoked >= \(Self.issued)
                ) then \(Self.word(.ended))
                """
            ]
    }
}

// MARK: - The values

extension Parameter<LoginWrite> {
    fileprivate static var app: Self { Self("app") { .text($0.verified.identity.app.text) } }
    fileprivate static var subject: Self { Self("subject") { .text($0.verified.identity.subject.text) } }
    fileprivate static var banHash: Self { Self("ban_hash") { .bytes($0.banHash) } }
    fileprivate static var scopes: Self {
        Self("scopes") { $0.verified.scopesAreListed ? .texts($0.verified.scopes) : .null(.texts) }
    }
    fileprivate static var declinedScopes: Self { Self("declined_scopes", of: \.verified.declinedScopes) }
    fileprivate static var dataAccessExpires: Self {
        Self("data_access_expires") { .moment($0.verified.dataAccessExpiresAt) }
    }
    fileprivate static var freshID: Self { Self(LoginStatement.freshIDParameter) { .uuid($0.freshID.uuid) } }
    fileprivate static var tokenHash: Self { Self(LoginStatement.tokenHashParameter) { .bytes($0.tokenHash) } }
    fileprivate static var previousTokenHash: Self { Self("previous_token_hash", of: \.previousTokenHash) }
    fileprivate static var sessionSeconds: Self { Self("session_seconds") { .int64($0.sessionSeconds) } }
    fileprivate static var providerSession: Self {
        Self("provider_session", as: "bytea", of: \.verified.providerSession)
    }
    fileprivate static var dynamic: Self {
        Self("dynamic") { .json(JSONText(JSONValue.object($0.dynamic).text)) }
    }
    fileprivate static var cleared: Self { Self("cleared", as: "text[]") { .texts($0.cleared.map(\.text)) } }

    // A stored provider token.
    fileprivate static var token: Self { Self("token", as: "bytea", of: \.token?.secret.bytes) }
    fileprivate static var tokenKeyID: Self { Self("token_key_id", as: "text", of: \.token?.secret.keyID) }
    fileprivate static var tokenKind: Self { Self("token_kind", as: "text", of: \.token?.kind.rawValue) }
    fileprivate static var tokenExpires: Self {
        Self("token_expires", as: "timestamptz") { .moment($0.token?.expiresAt) }
    }

    // A single-use credential.
    fileprivate static var nonceHash: Self { Self("nonce_hash", as: "bytea", of: \.once?.nonceHash) }
    fileprivate static var issued: Self { Self("issued", as: "timestamptz") { .moment($0.once?.issuedAt) } }
}
