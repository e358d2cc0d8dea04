package import Domain
import Postgres

/// The conditions of a search for users; all given conditions must hold.
package struct UserListing: Sendable {
    package var objectID: ObjectID?
    /// The subject of one of the user's identities, at any of the application's apps.
    package var subject: String?
    /// The whole e-mail address, ignoring case.
    package var email: String?
    /// A part of the name, ignoring case.
    package var name: String?
    package var status: UserStatus?
    /// The name of a provider of which the user has an identity; or `password`, or `passkey`.
    package var provider: ProviderName?
    /// A declared property and its value; a DATETIME matches to the millisecond.
    package var property: (name: PropertyName, value: PropertyValue)?

    package init() {}
}

/// A user that a search has found.
package struct ListedUser: Sendable {
    package let user: User
    /// The id of the user for clients of Firebase; nil if it is the object id.
    package let uid: String?
}

extension Store {
    /// Returns users in the order of their ids, starting after `after`.
    ///
    /// If the property `name` is indexed, a search for a part of a name is fast, provided that the part has at least
    /// three characters. Otherwise a search for a rare part reads all users, as a search for a rare status does.
    package func users(
        matching search: UserListing,
        of application: Application,
        after: ObjectID?,
        limit: Int
    ) async throws(Failure) -> [ListedUser] {
        let place: Statement = if let after { "u.object_id > \(after.uuid)" } else { "true" }
        var conditions: Statement = "true"
        for condition in search.conditions(schema: application.schema) { conditions.append("and \(condition)") }
        let users: Statement = "\(identifier: application.schema).users u"
        let inOrder: Statement = "order by u.object_id limit"
        func found(in source: Statement) async throws(Failure) -> [ListedUser] {
            let columns = UserColumns(application: application)
            let list = columns.list(of: "u")
            return try await query(
                """
                select (select f.uid from \(identifier: application.schema).firebase_users f
                    where f.object_id = u.object_id), \(unsafeRaw: list)
                from \(source) \(inOrder) \(limit)
                """,
                of: application
            ).all { row throws(PostgresError) in
                let uid = try row.next(String?.self)
                return ListedUser(user: try columns.user(in: &row), uid: uid)
            }
        }
        guard search.name != nil, application.properties.contains(where: { $0.name == .name && $0.indexed }) else {
            return try await found(in: "\(users) where \(place) and \(conditions)")
        }
        // A part that many names contain is found soon in the order of the ids. A rare part is found by the trigram
        // index, which has no order. PostgreSQL cannot tell the two apart: it estimates by the length of the part.
        let first = try await found(
            in: """
                (select u.* from \(users) where \(place) \(inOrder) \(unsafeRaw: Self.usersReadInOrder)) u
                where \(conditions)
                """
        )
        guard first.count < limit else { return first }
        return try await found(in: "(select u.* from \(users) where \(place) and \(conditions) offset 0) u")
    }

    private static let usersReadInOrder = "20000"
}

extension UserListing {
    /// Returns the conditions for a row `u` of the users table.
    fileprivate func conditions(schema: String) -> [Statement] {
        var conditions: [Statement] = []
        if let objectID { conditions.append("u.object_id = \(objectID.uuid)") }
        if let subject {
            conditions.append(Self.condition(onSubject: subject, identities: quoted(schema) + ".identities"))
        }
        if let email { conditions.append("lower(u.email) = lower(\(email))") }
        if let name { conditions.append("u.name ilike \(Self.pattern(containing: name))") }
        if let status { conditions.append("u.user_status = \(status.rawValue)") }
        if let provider { conditions.append(Self.condition(onProvider: provider, schema: schema)) }
        if let property { conditions.append(Self.condition(on: property.name, is: property.value)) }
        return conditions
    }

    /// Returns the SQL condition that a user has an identity with the given subject, at any app of the application.
    ///
    /// The primary key of `identities` begins with provider and app. A search without the app would scan the whole
    /// table. So a loose index scan lists the apps, and the key is searched once for each app.
    private static func condition(onSubject subject: String, identities: String) -> Statement {
        """
        u.object_id in (
            with recursive apps (provider, app) as (
                (select provider, provider_app from \(unsafeRaw: identities) order by 1, 2 limit 1)
                union all
                select later.provider, later.provider_app from apps, lateral (
                    select i.provider, i.provider_app from \(unsafeRaw: identities) i
                    where (i.provider, i.provider_app) > (apps.provider, apps.app) order by 1, 2 limit 1
                ) later
            )
            select i.object_id from apps join \(unsafeRaw: identities) i
                on i.provider = apps.provider and i.provider_app = apps.app and i.subject = \(subject)
        )
        """
    }

    private static func condition(onProvider provider: ProviderName, schema: String) -> Statement {
        switch provider.text {
        case ProviderName.password.text:
            "exists (select from \(identifier: schema).passwords p where p.object_id = u.object_id)"
        case FactorKind.passkey.rawValue:
            """
            exists (
                select from \(identifier: schema).factors f
                where f.object_id = u.object_id and f.kind = 'passkey' and f.removed is null
            )
            """
        default:
            """
            exists (
                select from \(identifier: schema).identities i
                where i.object_id = u.object_id and i.provider = \(provider.text)
            )
            """
        }
    }

    private static func condition(on name: PropertyName, is value: PropertyValue) -> Statement {
        if case .text(let text) = value, text.unicodeScalars.count < PropertyType.keyCharacters {
            // This is the expression in the index of an indexed property.
            let key = Property(name: name, type: .text).key(of: "u." + quoted(name.text))
            return "\(unsafeRaw: key) = \(text)"
        }
        // A column stores microseconds, which clients never see.
        guard case .dateTime = value else { return "u.\(identifier: name.text) = \(bind: value.bind)" }
        return """
            u.\(identifier: name.text) >= \(bind: value.bind)
            and u.\(identifier: name.text) < \(bind: value.bind) + interval '1 millisecond'
            """
    }

    /// Returns a LIKE pattern that matches every text containing this one, with special characters escaped.
    private static func pattern(containing text: String) -> String {
        var pattern = "%"
        for scalar in text.unicodeScalars {
            if "\\%_".unicodeScalars.contains(scalar) { pattern.unicodeScalars.append("\\") }
            pattern.unicodeScalars.append(scalar)
        }
        return pattern + "%"
    }
}
