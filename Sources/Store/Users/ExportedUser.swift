package import Domain
import Encodings
import FoundationEssentials
import Postgres

/// A user with the other data that an export of all users contains.
package struct ExportedUser: Sendable {
    package let user: User
    /// The login name; nil without a password.
    package let login: String?
    /// The encrypted hash of the password; nil without a password, and if the export leaves hashes out.
    package let passwordHash: EncryptedSecret?
    package let roles: [String]
    /// The id of the user for clients of Firebase; nil if it is the object id.
    package let uid: String?
    /// The custom claims of the user's ID tokens, as the text of a JSON object; nil for none.
    package let claims: String?
    /// The identities in the order of their creation; empty if the export leaves identities out.
    package let identities: [Identity]

    /// An identity of the user at a provider.
    package struct Identity: Sendable {
        package let provider: String
        package let app: String
        package let subject: String
        package let created: Int64
    }
}

extension Store {
    /// Returns users in the order of their ids, starting after the id `after`; empty if there are no more.
    ///
    /// Returns at most `limit` users, or fewer if so many together would be too large.
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
                f.uid, f.claims, \(unsafeRaw: columns.list(of: "u"))
            from \(identifier: schema).users u left join \(identifier: schema).passwords p using (object_id)
                left join \(identifier: schema).firebase_users f using (object_id)
            """
        if let after { question.append("where u.object_id > \(after.uuid)") }
        question.append("order by u.object_id limit")
        var limit = limit
        while true {
            var statement = question
            statement.append("\(limit)")
            do throws(PostgresError) {
                return try await tables(of: application).query(statement, near: application.affinity, isRare: true)
                    .all { row throws(PostgresError) in try ExportedUser(&row, columns) }
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
    fileprivate init(_ row: inout Row, _ columns: UserColumns) throws(PostgresError) {
        login = try row.next()
        passwordHash = try row.next()
        roles = try row.next()
        identities = (try row.next(JSONValue?.self)?.array ?? []).compactMap(Identity.init)
        uid = try row.next()
        claims = try row.next()
        user = try columns.user(in: &row)
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
