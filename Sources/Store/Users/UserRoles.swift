import Postgres
package import Vocabulary

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

    /// The roles that users were given, each with those of the user at the same place.
    package func roles(of users: [ObjectID], in application: Application) async throws(Failure) -> [[String]] {
        let result = try await query(
            """
            select (
                select coalesce(array_agg(r.role order by r.role), '{}')
                from \(identifier: application.schema).user_roles r where r.object_id = asked.id
            )
            from unnest(\(users.map(\.description))::uuid[]) with ordinality as asked (id, position) order by asked.position
            """,
            of: application,
            isRare: true
        )
        return try read { () throws(PostgresError) in
            var roles: [[String]] = []
            for row in result.rows { roles.append(try row.decode(0, as: [String].self)) }
            return roles
        }
    }
}
