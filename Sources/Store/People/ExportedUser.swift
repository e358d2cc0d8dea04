import FoundationEssentials
import Postgres
package import Vocabulary

/// A user with what else belongs into an export of all users.
package struct ExportedUser: Sendable {
    package let user: User
    /// What the user logs in with by password; nil for who has none.
    package let login: String?
    /// Nil for who has none, and where none is wanted.
    package let passwordHash: SealedSecret?
    package let roles: [String]
    /// In the order in which they came; empty where none are wanted.
    package let identities: [Identity]

    /// Who the user is at a provider.
    package struct Identity: Sendable {
        package let provider: String
        package let app: String
        package let subject: String
        package let created: Int64
    }
}

extension Store {
    /// Users in the order of their ids, those behind `after`: as many as are wanted, fewer where these would be too
    /// large together, and none when there are no more.
    package func exportedUsers(
        of application: Application,
        after: ObjectID?,
        limit: Int,
        withPasswordHashes: Bool,
        withIdentities: Bool
    ) async throws(Failure) -> [ExportedUser] {
        let (schema, columns) = (application.schema, UserColumns(application: application))
        var question: Statement = """
            select p.login, case when \(withPasswordHashes) then p.hash end, p.hash_key_id,
                (select coalesce(array_agg(r.role order by r.role), '{}')
                    from \(identifier: schema).user_roles r where r.object_id = u.object_id),
                case when \(withIdentities) then (
                    select jsonb_agg(jsonb_build_array(i.provider, i.provider_app, i.subject,
                        floor(extract(epoch from i.created) * 1000)::bigint)
                        order by i.created, i.provider, i.provider_app, i.subject)
                    from \(identifier: schema).identities i where i.object_id = u.object_id
                ) end,
                \(unsafeRaw: columns.list(of: "u"))
            from \(identifier: schema).users u left join \(identifier: schema).passwords p using (object_id)
            """
        if let after { question.append("where u.object_id > \(after.uuid)") }
        question.append("order by u.object_id limit")
        var limit = limit
        while true {
            var statement = question
            statement.append("\(limit)")
            do throws(PostgresError) {
                var users: [ExportedUser] = []
                for row in try await tables(of: application).query(statement, near: application.affinity, isRare: true)
                    .rows
                {
                    users.append(try ExportedUser(row, columns))
                }
                return users
            } catch {
                guard case .tooLarge(let excess) = error, excess.column == nil, limit > 1 else {
                    throw await failure(of: error, in: application)
                }
                limit /= 2
            }
        }
    }
}

extension ExportedUser {
    fileprivate init(_ row: Row, _ columns: UserColumns) throws(PostgresError) {
        login = try row.decode(0, as: String?.self)
        if let hash = try row.decode(1, as: [UInt8]?.self), let keyID = try row.decode(2, as: String?.self) {
            passwordHash = SealedSecret(bytes: hash, keyID: keyID)
        } else {
            passwordHash = nil
        }
        roles = try row.decode(3, as: [String].self)
        identities = (try row.decode(4, as: JSONValue?.self)?.array ?? []).compactMap(Identity.init)
        user = try columns.user(in: row, from: 5)
    }
}

extension ExportedUser.Identity {
    fileprivate init?(_ value: JSONValue) {
        guard let fields = value.array, fields.count == 4, let provider = fields[0].string, let app = fields[1].string,
            let subject = fields[2].string, let created = fields[3].integer
        else { return nil }
        self.init(provider: provider, app: app, subject: subject, created: created)
    }
}
