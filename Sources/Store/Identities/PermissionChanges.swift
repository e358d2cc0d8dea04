import Postgres
package import Vocabulary

/// That a person has granted a permission or taken it back.
package struct PermissionChange: Sendable {
    let permission: String
    let isGranted: Bool

    package init(_ permission: String, isGranted: Bool) {
        self.permission = permission
        self.isGranted = isGranted
    }
}

extension Store {
    /// Notes changes of an identity's permissions.
    ///
    /// Of the events of one permission the newest counts in whatever order they arrive, and a login after it counts
    /// more. Of two within one second the revocation counts.
    ///
    /// - Parameters:
    ///   - changes: What has changed.
    ///   - moment: Unix seconds at which it did.
    ///   - identity: Whose permissions they are.
    ///   - application: Whose identity it is.
    /// - Returns: How many of the changes were news.
    /// - Throws: `store_unavailable` and its like.
    package func note(
        _ changes: [PermissionChange],
        at moment: Int64,
        for identity: IdentityKey,
        of application: Application
    ) async throws(Failure) -> Int {
        try await transaction(in: tables(of: application)) { connection in
            guard let user = try await connection.lockUser(of: identity, schema: application.schema) else { return 0 }
            var news = 0
            for change in changes {
                let noted = try await connection.query(
                    change.statement(at: moment, for: identity, of: user, schema: application.schema)
                )
                news += noted.affectedRows ?? 0
            }
            return news
        }
    }
}

extension PermissionChange {
    fileprivate func statement(
        at moment: Int64,
        for identity: IdentityKey,
        of user: ObjectID,
        schema: String
    ) -> Statement {
        let gained: Statement = isGranted ? "granted_scopes" : "declined_scopes"
        let lost: Statement = isGranted ? "declined_scopes" : "granted_scopes"
        return """
            update \(identifier: schema).identities
            set \(gained) = array_append(array_remove(\(gained), \(permission)), \(permission)),
                \(lost) = array_remove(\(lost), \(permission)),
                permission_events = permission_events || jsonb_build_object(\(permission), \(moment))
            where \(identity.condition) and object_id = \(user.uuid)
                and last_used < to_timestamp(\(moment)) + interval '1 second'
                and coalesce((permission_events ->> \(permission))::bigint, -1) < \(isGranted ? moment : moment + 1)
            """
    }
}
