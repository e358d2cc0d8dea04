import Postgres
package import Vocabulary

/// Which users are wanted: all conditions that are given must hold.
package struct PersonSearch: Sendable {
    package var objectID: ObjectID?
    /// The id at a provider, under whichever of the application's apps.
    package var subject: String?
    /// The whole address, in whatever case.
    package var email: String?
    /// A part of the name, in whatever case.
    package var name: String?
    /// A declared property and its value; a DATETIME is meant to the millisecond.
    package var property: (name: PropertyName, value: PropertyValue)?

    package init() {}
}

extension Store {
    /// Users in the order of their ids: those behind `after`.
    package func people(
        matching search: PersonSearch,
        of application: Application,
        after: ObjectID?,
        limit: Int
    ) async throws(Failure) -> [User] {
        let columns = UserColumns(application: application)
        var statement: Statement = """
            select \(unsafeRaw: columns.list(of: "u")) from \(identifier: application.schema).users u where true
            """
        for condition in search.conditions(schema: application.schema) { statement.append("and \(condition)") }
        if let after { statement.append("and u.object_id > \(after.uuid)") }
        statement.append("order by u.object_id limit \(limit)")
        let result = try await query(statement, of: application)
        return try read { () throws(PostgresError) in
            var users: [User] = []
            users.reserveCapacity(result.count)
            for row in result.rows { users.append(try columns.user(in: row, from: 0)) }
            return users
        }
    }
}

extension PersonSearch {
    /// What must hold for a row `u` of the users table.
    fileprivate func conditions(schema: String) -> [Statement] {
        var conditions: [Statement] = []
        if let objectID { conditions.append("u.object_id = \(objectID.uuid)") }
        if let subject {
            conditions.append(Self.condition(onSubject: subject, identities: quoted(schema) + ".identities"))
        }
        if let email { conditions.append("lower(u.email) = lower(\(email))") }
        if let name { conditions.append("u.name ilike \(Self.pattern(containing: name))") }
        if let property { conditions.append(Self.condition(on: property.name, is: property.value)) }
        return conditions
    }

    /// The key of identities begins with the provider and its app, so it is asked once for each app that there is, and
    /// for the apps by going from one to the next: a search without the app would read the whole table.
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

    private static func condition(on name: PropertyName, is value: PropertyValue) -> Statement {
        if case .text(let text) = value, text.unicodeScalars.count < PropertyType.keyCharacters {
            // What the index of an indexed property holds.
            let key = Property(name: name, type: .text).key(of: "u." + quoted(name.text))
            return "\(unsafeRaw: key) = \(text)"
        }
        // A column keeps microseconds, which whoever searches has never seen.
        guard case .dateTime = value else { return "u.\(identifier: name.text) = \(bind: value.bind)" }
        return """
            u.\(identifier: name.text) >= \(bind: value.bind)
            and u.\(identifier: name.text) < \(bind: value.bind) + interval '1 millisecond'
            """
    }

    /// A pattern of LIKE that matches every text with this one in it; what means something in patterns means itself.
    private static func pattern(containing text: String) -> String {
        var pattern = "%"
        for scalar in text.unicodeScalars {
            if "\\%_".unicodeScalars.contains(scalar) { pattern.unicodeScalars.append("\\") }
            pattern.unicodeScalars.append(scalar)
        }
        return pattern + "%"
    }
}
