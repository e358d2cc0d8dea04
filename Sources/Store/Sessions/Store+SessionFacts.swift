package import Domain
import Encodings
import Postgres

extension SessionFacts {
    /// The columns of a session's row that `list(of:user:)` reads.
    static let sessionColumns = "s.token_hash, s.provider, s.proved, s.created, s.factor_kind, s.claims"

    /// Returns the select list for `init(_:of:)`.
    ///
    /// - Parameters:
    ///   - application: The application.
    ///   - user: The SQL expression of the user's id. The session's row is `s`.
    /// - Returns: The list, which lacks the columns of the user.
    static func list(of application: Application, user: String) -> String {
        """
        s.token_hash, s.provider, floor(extract(epoch from s.proved))::bigint,
        floor(extract(epoch from s.created))::bigint, s.factor_kind, s.claims,
        \(AccountFacts.list(of: application, user: user))
        """
    }

    /// Reads the columns of `list(of:user:)`.
    init(_ row: inout Row, of user: User) throws(PostgresError) {
        let key = SessionKey(hash: try row.next())
        let method = try row.next(String?.self)
        let (authenticatedAt, opened) = (try row.next(Int64.self), try row.next(Int64.self))
        let factor = try row.next(String?.self).flatMap(FactorKind.init)
        let claims = try row.next(String?.self)
        self.init(
            key: key,
            account: try AccountFacts(&row, of: user),
            method: method,
            authenticatedAt: authenticatedAt,
            opened: opened,
            factor: factor,
            claims: claims
        )
    }
}

extension AccountFacts {
    /// Returns the select list for `init(_:of:)`, which lacks the columns of the user.
    ///
    /// - Parameters:
    ///   - application: The application.
    ///   - user: The SQL expression of the user's id.
    /// - Returns: The list.
    static func list(of application: Application, user: String) -> String {
        let schema = quoted(application.schema)
        return """
            array(
                select i.provider || ' ' || i.provider_app || ' ' || i.subject from \(schema).identities i
                where i.object_id = \(user) order by i.created, i.provider, i.provider_app, i.subject
            ),
            (select p.login from \(schema).passwords p where p.object_id = \(user)),
            (select f.uid from \(schema).firebase_users f where f.object_id = \(user)),
            (select f.claims from \(schema).firebase_users f where f.object_id = \(user))
            """
    }

    /// Reads the columns of `list(of:user:)`.
    init(_ row: inout Row, of user: User) throws(PostgresError) {
        let identities = try row.next([String].self).compactMap(IdentityKey.init(joined:))
        let (login, uid, claims) = (try row.next(String?.self), try row.next(String?.self), try row.next(String?.self))
        self.init(user: user, uid: uid, claims: claims, identities: identities, passwordLogin: login)
    }
}

extension AccountDetails {
    /// Returns the select list for `init(_:of:)` from a row `u` of the users table, without the columns of the user.
    static func list(of application: Application) -> String {
        let schema = quoted(application.schema)
        return """
            \(AccountFacts.list(of: application, user: "u.object_id")),
            (select p.changed from \(schema).passwords p where p.object_id = u.object_id),
            (
                select floor(extract(epoch from f.valid_since))::bigint from \(schema).firebase_users f
                where f.object_id = u.object_id
            ),
            array(
                select upper(f.id::text) || ' ' || f.kind || ' ' || floor(extract(epoch from f.created))::bigint
                    || coalesce(' ' || f.label, '')
                from \(schema).factors f
                where f.object_id = u.object_id and f.removed is null and f.kind in ('totp', 'sms')
                order by f.created, f.id
            )
            """
    }

    /// Reads the columns of `list(of:)`.
    init(_ row: inout Row, of user: User) throws(PostgresError) {
        self.init(
            facts: try AccountFacts(&row, of: user),
            passwordChanged: try row.next(Timestamp?.self)?.milliseconds,
            validSince: try row.next(),
            codeFactors: try row.next([String].self).compactMap(CodeFactor.init(joined:))
        )
    }
}

extension IdentityKey {
    /// Reads an identity as `AccountFacts.list` joins it: provider, app and subject, separated by spaces.
    fileprivate init?(joined text: String) {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let provider = ProviderName(parts[0]), let app = ProviderAppID(String(parts[1])),
            let subject = Subject(String(parts[2]))
        else { return nil }
        self.init(provider: provider, app: app, subject: subject)
    }
}

extension CodeFactor {
    /// Reads a factor as `AccountDetails.list` joins it: id, kind, time and perhaps the label, separated by spaces.
    fileprivate init?(joined text: String) {
        let parts = text.split(separator: " ", maxSplits: 3)
        guard parts.count >= 3, let kind = FactorKind(rawValue: String(parts[1])), let created = Int64(parts[2]) else {
            return nil
        }
        let label = parts.dropFirst(3).first.map { String($0) }
        self.init(id: String(parts[0]), kind: kind, created: created, label: label)
    }
}

extension Store {
    /// Returns a valid session with what signed tokens say about it; nil if it is unknown or has ended.
    ///
    /// Does not record the session's use.
    package func sessionFacts(
        of key: SessionKey,
        in application: Application
    ) async throws(Failure) -> StatementOutcome<SessionFacts?> {
        let columns = UserColumns(application: application)
        let schema = quoted(application.schema)
        let sql = """
            select \(columns.list(of: "u")), \(SessionFacts.list(of: application, user: "u.object_id"))
            from \(schema).sessions s join \(schema).users u using (object_id)
            where s.token_hash = $1 and \(application.isLive("s"))
            """
        return try await current(application) {
            try await tables(of: application).query(
                Statement(sql: sql, binds: [.bytes(key.hash)]),
                near: application.affinity
            ).first { (row) throws(PostgresError) in try SessionFacts(&row, of: columns.user(in: &row)) }
        }
    }

    /// Returns the user of a valid session with all details; nil if the session is unknown or has ended.
    ///
    /// Does not record the session's use.
    package func sessionAccount(
        of key: SessionKey,
        in application: Application
    ) async throws(Failure) -> StatementOutcome<AccountDetails?> {
        let columns = UserColumns(application: application)
        let schema = quoted(application.schema)
        let sql = """
            select \(columns.list(of: "u")), \(AccountDetails.list(of: application))
            from \(schema).users u where u.object_id = (
                select s.object_id from \(schema).sessions s where s.token_hash = $1 and \(application.isLive("s"))
            )
            """
        return try await current(application) {
            try await tables(of: application).query(
                Statement(sql: sql, binds: [.bytes(key.hash)]),
                near: application.affinity
            ).first { (row) throws(PostgresError) in try AccountDetails(&row, of: columns.user(in: &row)) }
        }
    }
}
