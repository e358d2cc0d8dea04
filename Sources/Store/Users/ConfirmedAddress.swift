package import Domain
import Postgres

extension Store {
    /// Marks a user's e-mail address as confirmed, since the provider that owns the address confirms it.
    ///
    /// A user with another login method, or a second factor, stays as is: whoever holds that method may not own the
    /// address. The address also stays as is if it has changed meanwhile.
    ///
    /// - Returns: Whether the address is the user's and confirmed now, perhaps by another login at the same time.
    /// - Throws: `store_unavailable` and similar failures.
    package func confirmAddress(
        _ address: String,
        of user: ObjectID,
        by identity: IdentityKey,
        in application: Application,
        actor: ChangeAuthor
    ) async throws(Failure) -> Bool {
        let (schema, tables) = (application.schema, tables(of: application))
        return try await transaction(in: tables) { connection in
            let confirmed = try await connection.query(
                """
                update \(identifier: schema).users u set email_verified = true
                where u.object_id = \(user.uuid) and not u.email_verified and u.user_status = 'ENABLED'
                    and lower(u.email) = lower(\(address))
                    and not exists (select from \(identifier: schema).passwords p where p.object_id = u.object_id)
                    and not exists (select from \(identifier: schema).factors f where f.object_id = u.object_id)
                    and not exists (
                        select from \(identifier: schema).identities i
                        where i.object_id = u.object_id and not (i.provider = \(identity.provider.text)
                            and i.provider_app = \(identity.app.text) and i.subject = \(identity.subject.text))
                    )
                """
            )
            guard confirmed.affectedRows == 1 else {
                let found = try await connection.query(
                    """
                    select from \(identifier: schema).users u
                    where u.object_id = \(user.uuid) and u.email_verified and lower(u.email) = lower(\(address))
                    """
                )
                return found.count == 1
            }
            let entry = AuditRecord("user.email.confirm", of: user.description, in: application.id)
            try await tables.record([entry], by: actor, with: connection)
            return true
        }
    }
}
