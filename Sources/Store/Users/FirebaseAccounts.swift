package import Domain
import Encodings
import Postgres

extension Store {
    /// Returns users with the details that Firebase's administrators see.
    ///
    /// Users that are selected by their ids have no order. Unknown ids are left out.
    package func accounts(
        _ selection: AccountSelection,
        of application: Application
    ) async throws(Failure) -> [AccountDetails] {
        let columns = UserColumns(application: application)
        return try await query(
            """
            select \(unsafeRaw: AccountDetails.list(of: columns, in: application))
            from \(identifier: application.schema).users u
            \(selection.clause(in: application))
            """,
            of: application
        ).all { (row) throws(PostgresError) in try AccountDetails(&row, columns: columns) }
    }

    /// Returns the ids of the users whom an administrator names, each once.
    ///
    /// Several users may have one e-mail address. The first is the user who logs in with the address and a password.
    /// Users who have confirmed the address follow, then the others, the oldest first.
    package func users(named names: [AccountName], of application: Application) async throws(Failure) -> [ObjectID] {
        var (uids, emails, phones): ([String], [String], [String]) = ([], [], [])
        var identities: [IdentityKey] = []
        for name in names {
            switch name {
            case .uid(let uid): uids.append(uid)
            case .email(let email): emails.append(email.lowercased())
            case .phone(let number): phones.append(number)
            case .identity(let keys): identities += keys
            }
        }
        var found = try await users(ofUIDs: uids, in: application).map(\.value)
        let schema: Statement = "\(identifier: application.schema)"
        if !emails.isEmpty {
            found += try await query(
                """
                select u.object_id from \(schema).users u left join \(schema).passwords p using (object_id)
                where lower(u.email) = any (\(emails))
                order by p.login = any (\(emails)) desc nulls last, u.email_verified desc, u.created, u.object_id
                limit \(Self.maxNamed)
                """,
                of: application
            ).all(ObjectID.self)
        }
        let phone = application.settings.firebase.phoneNumber
        if !phones.isEmpty, let property = application.properties.first(where: { $0.name == phone && $0.type.isText }) {
            found += try await query(
                """
                select u.object_id from \(schema).users u
                where \(unsafeRaw: property.key(of: "u." + quoted(property.name.text))) = any (\(phones))
                order by u.created, u.object_id limit \(Self.maxNamed)
                """,
                of: application
            ).all(ObjectID.self)
        }
        if !identities.isEmpty {
            let (providers, apps) = (identities.map(\.provider.text), identities.map(\.app.text))
            found += try await query(
                """
                select i.object_id
                from unnest(\(providers)::text[], \(apps)::text[], \(identities.map(\.subject.text))::text[])
                    as named (provider, provider_app, subject)
                join \(schema).identities i using (provider, provider_app, subject)
                """,
                of: application
            ).all(ObjectID.self)
        }
        var known: Set<ObjectID> = []
        return found.filter { known.insert($0).inserted }
    }

    /// The maximum number of users whom addresses or telephone numbers name: neither is unique.
    private static let maxNamed = 1000
}

extension AccountSelection {
    /// Returns the conditions and the order of a statement that reads a row `u` of the users table.
    fileprivate func clause(in application: Application) -> Statement {
        switch self {
        case .ids(let ids): "where u.object_id = any (\(ids.map(\.description))::uuid[])"
        case .page(let after, let limit):
            if let after {
                "where u.object_id > \(after.uuid) order by u.object_id limit \(limit)"
            } else {
                "order by u.object_id limit \(limit)"
            }
        case .ordered(let order, let isDescending, let offset, let limit):
            """
            order by \(unsafeRaw: order.column(in: application)) \(unsafeRaw: isDescending ? "desc" : "asc"),
                u.object_id limit \(limit) offset \(offset)
            """
        }
    }
}

extension AccountOrder {
    fileprivate func column(in application: Application) -> String {
        switch self {
        case .id: return "u.object_id"
        case .created: return "u.created"
        case .lastLogin: return "u.last_login"
        case .email: return "u.email"
        case .name:
            let name = application.settings.firebase.displayName
            return application.properties.contains { $0.name == name } ? "u." + quoted(name.text) : "u.object_id"
        }
    }
}

extension PostgresConnection {
    /// Gives a new user a uid, unless another user has it.
    ///
    /// - Returns: Whether the user has got the uid.
    func give(_ uid: String, to user: ObjectID, schema: String) async throws(PostgresError) -> Bool {
        let given = try await query(
            """
            insert into \(identifier: schema).firebase_users (object_id, uid) values (\(user.uuid), \(uid))
            on conflict do nothing
            """
        )
        return given.affectedRows == 1
    }

    /// Makes an administrator's changes of an account beyond its record.
    ///
    /// If the address now counts as confirmed, a user who waits for the confirmation becomes enabled.
    ///
    /// - Returns: The names of the given values.
    func set(
        _ settings: AccountSettings,
        of user: ObjectID,
        in application: Application
    ) async throws(PostgresError) -> [String] {
        let schema = application.schema
        var names: [String] = []
        if let claims = settings.claims {
            names.append("claims")
            _ = try await query(
                """
                insert into \(identifier: schema).firebase_users as f (object_id, claims)
                values (\(user.uuid), \(claims.value))
                on conflict (object_id) do update set claims = excluded.claims
                """
            )
        }
        if let seconds = settings.validSince {
            names.append("validSince")
            _ = try await query(
                """
                insert into \(identifier: schema).firebase_users as f (object_id, valid_since)
                values (\(user.uuid), \(Timestamp(milliseconds: seconds * 1000)))
                on conflict (object_id) do update set valid_since = excluded.valid_since
                """
            )
            let end = Timestamp(milliseconds: (seconds + 1) * 1000)
            _ = try await query(
                application.ending(sessions: "s.object_id = \(user.uuid) and s.created < \(end)")
            )
            try await endLinks(of: user, schema: schema)
        }
        if let isVerified = settings.emailVerified {
            names.append("emailVerified")
            _ = try await query(
                """
                update \(identifier: schema).users u set email_verified = \(isVerified), user_status = case
                    when \(isVerified) and u.user_status = 'EMAIL_CONFIRMATION_PENDING' then 'ENABLED'
                    else u.user_status end
                where u.object_id = \(user.uuid) and u.email is not null
                """
            )
        }
        return names
    }
}
