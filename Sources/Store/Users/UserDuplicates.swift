package import Domain
import FoundationEssentials
import Postgres

/// Users of an application who have the same values, such as the same e-mail address.
package struct UserDuplicates: Sendable {
    /// A user of a group, as far as an operator needs to tell the accounts apart.
    package struct Member: Sendable {
        package let objectID: ObjectID
        package let status: String
        package let emailVerified: Bool
        /// The time of creation in milliseconds since 1970 UTC, like `lastLogin`.
        package let created: Int64
        package let lastLogin: Int64?
        /// The names of the user's providers, `password` and `passkey`, sorted.
        package let loginMethods: [String]
    }

    /// The common values as text, in the order of the properties that were compared.
    package let shared: [String]
    /// The number of users with these values.
    package let count: Int64
    /// The oldest users of the group, at most `maxMembers`.
    package let members: [Member]

    /// The position of the group in the list: the smallest id of its users.
    package let position: ObjectID

    package static let maxMembers = 20
}

extension Store {
    /// Returns the groups of users whose values of some properties are all equal, and present.
    ///
    /// Texts are compared without regard to case. The query reads the whole users table.
    ///
    /// - Parameters:
    ///   - properties: The properties that are compared.
    ///   - application: The application of the users.
    ///   - position: Only groups after this position of the list.
    ///   - limit: The maximum number of groups.
    /// - Returns: The groups, in the order of their positions.
    /// - Throws: `store_unavailable` and similar failures.
    package func duplicates(
        by properties: [Property],
        of application: Application,
        after position: ObjectID?,
        limit: Int
    ) async throws(Failure) -> [UserDuplicates] {
        let users: Statement = "\(identifier: application.schema).users"
        let keys = properties.map { property in
            let column = "u." + quoted(property.name.text)
            return property.type.isText ? "lower(\(column))" : "\(column)::text"
        }
        let conditions = keys.map { "\($0) <> ''" }.joined(separator: " and ")
        let after: Statement = if let position { "and min(u.object_id::text) > \(position.uuid)::text" } else { "" }
        let found = try await query(
            """
            select min(u.object_id::text)::uuid, array[\(unsafeRaw: keys.joined(separator: ", "))], count(*),
                (array_agg(u.object_id::text order by u.created, u.object_id))[1:\(UserDuplicates.maxMembers)]
            from \(users) u where \(unsafeRaw: conditions)
            group by \(unsafeRaw: keys.joined(separator: ", "))
            having count(*) > 1 \(after) order by min(u.object_id::text) limit \(limit)
            """,
            of: application
        )
        let groups = try found.all { row throws(PostgresError) in
            (
                try row.next(ObjectID.self), try row.next([String].self), try row.next(Int64.self),
                try row.next([String].self)
            )
        }
        let members = try await members(groups.flatMap { $0.3 }, of: application)
        return groups.map { position, shared, count, ids in
            UserDuplicates(
                shared: shared,
                count: count,
                members: ids.compactMap { ObjectID($0) }.compactMap { members[$0] },
                position: position
            )
        }
    }

    private func members(
        _ ids: [String],
        of application: Application
    ) async throws(Failure) -> [ObjectID: UserDuplicates.Member] {
        guard !ids.isEmpty else { return [:] }
        let schema = Statement.quoted(identifier: application.schema)
        let result = try await query(
            """
            select u.object_id, u.user_status, coalesce(u.email_verified, false), u.created, u.last_login, array(
                select i.provider from \(unsafeRaw: schema).identities i where i.object_id = u.object_id
                union select 'password' from \(unsafeRaw: schema).passwords p where p.object_id = u.object_id
                union select f.kind from \(unsafeRaw: schema).factors f
                where f.object_id = u.object_id and f.kind = 'passkey' and f.removed is null
                order by 1
            )
            from \(unsafeRaw: schema).users u where u.object_id = any (\(ids)::uuid[])
            """,
            of: application
        )
        let members = try result.all { row throws(PostgresError) in
            UserDuplicates.Member(
                objectID: try row.next(),
                status: try row.next(),
                emailVerified: try row.next(),
                created: try row.next(Timestamp.self).milliseconds,
                lastLogin: try row.next(Timestamp?.self)?.milliseconds,
                loginMethods: try row.next()
            )
        }
        return Dictionary(uniqueKeysWithValues: members.map { ($0.objectID, $0) })
    }
}
