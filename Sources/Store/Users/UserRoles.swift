import Postgres
package import Vocabulary

/// Which users have a role.
package enum RoleHolders: Sendable {
    /// Those to whom it was given.
    case given(String)
    /// Those who have it by what they are.
    case system(SystemRole)
}

extension Store {
    /// The roles that a user was given, in the order of their names; none for a user who is not there.
    package func roles(of user: ObjectID, in application: Application) async throws(Failure) -> [String] {
        let result = try await query(
            """
            select coalesce(array_agg(role order by role), '{}')
            from \(identifier: application.schema).user_roles where object_id = \(user.uuid)
            """,
            of: application
        )
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: [String].self) } ?? []
    }

    /// A page of the users who have a role, with the roles that each was given, in the order of their ids.
    package func users(
        having role: RoleHolders,
        of application: Application,
        offset: Int64,
        limit: Int64
    ) async throws(Failure) -> [(user: User, roles: [String])] {
        let columns = UserColumns(application: application)
        let condition: Statement =
            switch role {
            case .given(let name):
                """
                u.object_id in (
                    select object_id from \(identifier: application.schema).user_roles where role = \(name)
                )
                """
            case .system(.guestUser): "u.user_status = 'GUEST'"
            case .system(.authenticatedUser): "u.user_status <> 'GUEST'"
            }
        let result = try await query(
            """
            select (select coalesce(array_agg(r.role order by r.role), '{}')
                from \(identifier: application.schema).user_roles r where r.object_id = u.object_id),
                \(unsafeRaw: columns.list(of: "u"))
            from \(identifier: application.schema).users u where \(condition)
            order by u.object_id offset \(offset) limit \(limit)
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            var users: [(user: User, roles: [String])] = []
            for row in result.rows {
                users.append((try columns.user(in: row, from: 1), try row.decode(0, as: [String].self)))
            }
            return users
        }
    }
}
