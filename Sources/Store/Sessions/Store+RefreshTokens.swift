package import Domain
import Postgres

/// A new secret of a refresh token.
package struct NewRefreshSecret: Sendable {
    let family: [UInt8]
    /// The SHA-256 of the secret.
    package let hash: [UInt8]

    /// - Parameters:
    ///   - family: The id of the family: 16 bytes.
    ///   - hash: The SHA-256 of the secret.
    package init(family: [UInt8], hash: [UInt8]) { (self.family, self.hash) = (family, hash) }
}

/// What the use of a refresh token found.
package enum RefreshOutcome: Sendable {
    /// The token was the current one, and is replaced.
    case rotated(SessionFacts)
    /// The token was replaced a moment ago; `nonce` makes the same successor once more.
    case repeated(SessionFacts, nonce: [UInt8])
    /// The token was replaced long ago, and this is the first such use, or follows it within seconds.
    ///
    /// A frozen page of the client has an old copy, until it reads the newest token.
    case stale
    /// The token was replaced long ago, and such a use is repeated: the client or a thief keeps using an old copy.
    case reused(SessionKey)
    /// There is no such family: its session has ended.
    case unknown
}

extension Store {
    /// The seconds for which a replaced refresh token returns its successor once more, for two tabs and for retries.
    static let refreshGraceSeconds = 60

    /// The seconds in which a frozen page finds the newest refresh token, after it has used a replaced token.
    static let staleSeconds = 10

    /// The number of families of a session, beyond which the oldest end.
    static let maxRefreshFamilies = 10

    /// Opens a family of refresh tokens for a valid session.
    ///
    /// - Parameters:
    ///   - secret: The first secret of the family.
    ///   - key: The session.
    ///   - endsOthers: Whether the other families of the session end.
    ///   - application: The application of the session.
    /// - Returns: The session; nil if it has ended.
    /// - Throws: `store_unavailable` and similar failures.
    package func openRefreshFamily(
        _ secret: NewRefreshSecret,
        of key: SessionKey,
        endingOthers endsOthers: Bool,
        in application: Application
    ) async throws(Failure) -> StatementOutcome<SessionFacts?> {
        let columns = UserColumns(application: application)
        let schema = quoted(application.schema)
        let kept = endsOthers ? 0 : Self.maxRefreshFamilies - 1
        let sql = """
            with s as (
                select s.* from \(schema).sessions s where s.token_hash = $1 and \(application.isLive("s"))
            ), opened as (
                insert into \(schema).refresh_tokens (family, session, current) select $2, s.token_hash, $3 from s
            ), surplus as (
                delete from \(schema).refresh_tokens where family = any (array(
                    select o.family from \(schema).refresh_tokens o where o.session = $1
                    order by o.rotated desc offset \(kept)
                ))
            )
            select \(columns.list(of: "u")), \(SessionFacts.list(of: application, user: "u.object_id"))
            from s join \(schema).users u using (object_id)
            """
        return try await current(application) {
            try await tables(of: application).query(
                Statement(sql: sql, binds: [.bytes(key.hash), .bytes(secret.family), .bytes(secret.hash)]),
                near: application.affinity
            ).first { (row) throws(PostgresError) in try SessionFacts(&row, of: columns.user(in: &row)) }
        }
    }

    /// Uses a refresh token: replaces its secret, and records the use of its session.
    ///
    /// Of simultaneous uses one replaces the secret; the others return the same successor.
    ///
    /// - Parameters:
    ///   - presented: The family and the hash of the secret that the client sent.
    ///   - successor: The SHA-256 of the secret that follows.
    ///   - nonce: The random bytes from which, with the secret, the successor follows.
    ///   - application: The application of the session.
    /// - Returns: What the use found.
    /// - Throws: `store_unavailable` and similar failures.
    package func useRefreshToken(
        _ presented: NewRefreshSecret,
        successor: [UInt8],
        nonce: [UInt8],
        in application: Application
    ) async throws(Failure) -> StatementOutcome<RefreshOutcome> {
        let columns = UserColumns(application: application)
        let schema = quoted(application.schema)
        let sql = """
            with known as (
                select r.session, r.current = $2 as is_current,
                    r.former = $2 and r.rotated > now() - interval '\(Self.refreshGraceSeconds) seconds' as is_former,
                    r.nonce, coalesce(r.suspected > now() - interval '\(Self.staleSeconds) seconds', true) as is_first
                from \(schema).refresh_tokens r where r.family = $1 for no key update
            ), rotated as (
                update \(schema).refresh_tokens r set former = r.current, current = $3, nonce = $4,
                    rotated = now(), suspected = null
                from known where r.family = $1 and known.is_current
            ), suspected as (
                update \(schema).refresh_tokens r set suspected = coalesce(r.suspected, now())
                from known where r.family = $1 and not known.is_current and known.is_former is not true
            ), seen as (
                update \(schema).sessions set last_seen = now()
                from known where token_hash = known.session and known.is_current
            )
            select known.session, known.is_current, known.is_former, known.nonce, known.is_first,
                \(columns.list(of: "u")), \(SessionFacts.list(of: application, user: "u.object_id"))
            from known
                left join \(schema).sessions s on s.token_hash = known.session and \(application.isLive("s"))
                left join \(schema).users u on u.object_id = s.object_id
            """
        return try await current(application) {
            try await tables(of: application).query(
                Statement(
                    sql: sql,
                    binds: [.bytes(presented.family), .bytes(presented.hash), .bytes(successor), .bytes(nonce)]
                ),
                near: application.affinity
            ).first { (row) throws(PostgresError) in try RefreshOutcome(&row, columns: columns) } ?? .unknown
        }
    }
}

extension RefreshOutcome {
    fileprivate init(_ row: inout Row, columns: UserColumns) throws(PostgresError) {
        let session = SessionKey(hash: try row.next())
        let isCurrent = try row.next(Bool.self)
        let isFormer = try row.next(Bool?.self) ?? false
        let nonce = try row.next([UInt8]?.self)
        let isFirst = try row.next(Bool.self)
        guard isCurrent || isFormer else {
            row.skipRest()
            self = isFirst ? .stale : .reused(session)
            return
        }
        guard !row.isNullNext else {
            row.skipRest()
            self = .unknown
            return
        }
        let facts = try SessionFacts(&row, of: columns.user(in: &row))
        self = isCurrent ? .rotated(facts) : .repeated(facts, nonce: nonce ?? [])
    }
}
