package import Domain
import Encodings
import Postgres

extension Store {
    /// Returns users with the details that Firebase's administrators see, in no order, without unknown ids.
    package func accounts(_ ids: [ObjectID], of application: Application) async throws(Failure) -> [AccountDetails] {
        guard !ids.isEmpty else { return [] }
        let columns = UserColumns(application: application)
        return try await query(
            """
            select \(unsafeRaw: columns.list(of: "u")), \(unsafeRaw: AccountDetails.list(of: application))
            from \(identifier: application.schema).users u
            where u.object_id = any (\(ids.map(\.description))::uuid[])
            """,
            of: application
        ).all { (row) throws(PostgresError) in try AccountDetails(&row, of: columns.user(in: &row)) }
    }

    /// Returns the ids of the users who have any of the given identities.
    package func users(
        with identities: [IdentityKey],
        in application: Application
    ) async throws(Failure) -> [ObjectID] {
        guard !identities.isEmpty else { return [] }
        let (providers, apps) = (identities.map(\.provider.text), identities.map(\.app.text))
        return try await query(
            """
            select i.object_id
            from unnest(\(providers)::text[], \(apps)::text[], \(identities.map(\.subject.text))::text[])
                as named (provider, provider_app, subject)
            join \(identifier: application.schema).identities i using (provider, provider_app, subject)
            """,
            of: application
        ).all(ObjectID.self)
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
            let changed = try await query(
                """
                update \(identifier: schema).users u set email_verified = \(isVerified), user_status = case
                    when \(isVerified) and u.user_status = 'EMAIL_CONFIRMATION_PENDING' then 'ENABLED'
                    else u.user_status end
                where u.object_id = \(user.uuid) and u.email is not null
                """
            )
            // A user without an address has nothing to confirm.
            if changed.affectedRows == 1 { names.append("emailVerified") }
        }
        return names
    }
}
