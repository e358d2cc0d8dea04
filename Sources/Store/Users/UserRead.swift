package import Domain
import Encodings
import Postgres

extension Store {
    /// Returns a user with all stored data; nil when there is none.
    package func storedUser(_ id: ObjectID, of application: Application) async throws(Failure) -> StoredUser? {
        let reader = UserReader(application: application)
        return try await query(reader.statement(for: id), of: application).first(by: reader.stored)
    }

    /// Returns a user with all stored data.
    ///
    /// - Throws: `not_found` when there is none. If the user was merged into another one, the detail `mergedInto` has
    ///   the id of the other one. Only servers and operators may learn this.
    package func existingUser(_ id: ObjectID?, of application: Application) async throws(Failure) -> StoredUser {
        guard let id else { throw .noSuchUser }
        if let stored = try await storedUser(id, of: application) { return stored }
        throw try await noSuchUser(id, of: application)
    }

    /// Returns the failure for the id of a user that does not exist, or no longer, as for `existingUser`.
    package func noSuchUser(_ id: ObjectID, of application: Application) async throws(Failure) -> Failure {
        guard let survivor = try await survivor(of: id, in: application) else { return .noSuchUser }
        return Failure(
            .notFound,
            "This user was merged into the user \(survivor).",
            details: ["mergedInto": .string(survivor.description)]
        )
    }
}

/// Reads all stored data of a user in one snapshot.
struct UserReader: Sendable {
    private let application: Application
    private let columns: UserColumns

    /// The maximum number of sessions that are read with a user.
    ///
    /// Without it, operators could not view or disable a user who logs in again and again without ever logging out.
    private static let sessionsRead = 1000

    init(application: Application) {
        self.application = application
        columns = UserColumns(application: application)
    }

    func statement(for id: ObjectID) -> Statement {
        """
        select
            (select coalesce(jsonb_agg(jsonb_build_array(i.provider, i.provider_app, i.subject,
                \(unsafeRaw: Self.milliseconds("i.created")), \(unsafeRaw: Self.milliseconds("i.last_used")),
                i.granted_scopes, i.declined_scopes, \(unsafeRaw: Self.milliseconds("i.data_access_expires")),
                \(unsafeRaw: Self.milliseconds("i.revoked")), i.revoked_by, i.token is not null,
                \(unsafeRaw: Self.milliseconds("i.token_expires")), \(unsafeRaw: Self.milliseconds("i.checked")),
                i.written)
                order by i.created, i.provider, i.provider_app, i.subject), '[]')
                from \(identifier: application.schema).identities i where i.object_id = u.object_id) as identities,
            (select coalesce(jsonb_agg(jsonb_build_array(\(unsafeRaw: Self.sessionID),
                \(unsafeRaw: Self.milliseconds("created")), \(unsafeRaw: Self.milliseconds("last_seen")),
                \(unsafeRaw: Self.milliseconds("expires"))) order by created desc, token_hash), '[]')
                from (
                    select s.* from \(identifier: application.schema).sessions s
                    where s.object_id = u.object_id and \(unsafeRaw: application.isLive("s"))
                    order by s.created desc, s.token_hash limit \(Self.sessionsRead)
                ) live) as sessions,
            p.login, p.changed,
            (select coalesce(array_agg(r.role order by r.role), '{}')
                from \(identifier: application.schema).user_roles r where r.object_id = u.object_id),
            (select coalesce(jsonb_agg(jsonb_build_array(f.id, f.kind, f.label, encode(f.secret, 'hex'),
                f.secret_key_id, cardinality(f.codes), \(unsafeRaw: Self.milliseconds("f.created")),
                \(unsafeRaw: Self.milliseconds("f.used"))) order by f.created, f.kind = 'recoveryCode', f.id), '[]')
                from \(identifier: application.schema).factors f
                where f.object_id = u.object_id and f.removed is null),
            c.uid, c.claims,
            \(unsafeRaw: columns.list(of: "u"))
        from \(identifier: application.schema).users u
            left join \(identifier: application.schema).passwords p using (object_id)
            left join \(identifier: application.schema).firebase_users c using (object_id)
        where u.object_id = \(id.uuid)
        """
    }

    /// The SQL expression of a session's public id, for a row of the sessions table.
    static let sessionID = "encode(substring(sha256(token_hash) for 16), 'hex')"

    /// Returns the SQL that converts a timestamp to milliseconds since 1970, rounded down.
    ///
    /// The SQL yields NULL for infinity, which JSON cannot represent.
    private static func milliseconds(_ column: String) -> String {
        "case when isfinite(\(column)) then floor(extract(epoch from \(column)) * 1000)::bigint end"
    }

    func stored(in row: inout Row) throws(PostgresError) -> StoredUser {
        let (identities, sessions) = (try row.next(JSONValue.self), try row.next(JSONValue.self))
        let (login, changed) = (try row.next(String?.self), try row.next(Timestamp?.self))
        let (roles, factors) = (try row.next([String].self), try row.next(JSONValue.self))
        let (uid, claims) = (try row.next(String?.self), try row.next(String?.self))
        return StoredUser(
            user: try columns.user(in: &row),
            identities: (identities.array ?? []).compactMap(Self.identity),
            password: login.flatMap { login in
                changed.map { StoredUser.Password(login: login, changed: $0.milliseconds) }
            },
            roles: roles,
            uid: uid,
            claims: claims,
            sessions: (sessions.array ?? []).compactMap(Self.session),
            factors: (factors.array ?? []).compactMap(Self.factor)
        )
    }

    private static func identity(_ value: JSONValue) -> StoredUser.Identity? {
        guard let fields = value.array, fields.count == 14, let provider = fields[0].string, let app = fields[1].string,
            let subject = fields[2].string
        else { return nil }
        return StoredUser.Identity(
            provider: provider,
            app: app,
            subject: subject,
            created: moment(fields[3]),
            lastUsed: moment(fields[4]),
            grantedScopes: (fields[5].array ?? []).compactMap(\.string),
            declinedScopes: (fields[6].array ?? []).compactMap(\.string),
            dataAccessExpires: fields[7].integer,
            revoked: fields[8].integer,
            revokedBy: fields[9].string,
            tokenKept: fields[10].bool ?? false,
            tokenExpires: fields[11].integer,
            checked: fields[12].integer,
            written: fields[13].object ?? [:]
        )
    }

    private static func session(_ value: JSONValue) -> StoredUser.Session? {
        guard let fields = value.array, fields.count == 4, let id = fields[0].string else { return nil }
        return StoredUser.Session(
            id: id,
            created: moment(fields[1]),
            lastSeen: moment(fields[2]),
            expires: moment(fields[3])
        )
    }

    /// Reads a second factor from JSON; nil if this version does not know the factor's kind.
    private static func factor(_ value: JSONValue) -> StoredUser.Factor? {
        guard let fields = value.array, fields.count == 8, let id = fields[0].string.flatMap({ ObjectID($0) }),
            let kind = fields[1].string.flatMap({ FactorKind(rawValue: $0) })
        else { return nil }
        let bytes = fields[3].string.flatMap { Hexadecimal.decode($0.utf8) }
        return StoredUser.Factor(
            id: id,
            kind: kind,
            label: fields[2].string,
            secret: bytes.flatMap { bytes in fields[4].string.map { EncryptedSecret(bytes: bytes, keyID: $0) } },
            codesLeft: Int(fields[5].integer ?? 0),
            created: moment(fields[6]),
            lastUsed: fields[7].integer
        )
    }

    private static func moment(_ value: JSONValue) -> Int64 { value.integer ?? Timestamp.infinity.milliseconds }
}
