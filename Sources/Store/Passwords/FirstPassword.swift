package import Domain
import Postgres

/// A user who has no password here, found by a login name.
package struct UserWithoutPassword: Sendable {
    package let objectID: ObjectID
    /// The login name as the user's property has it, which may differ in case from what the user typed.
    package let login: String
}

extension Store {
    /// Returns the only user without a password who has a login name; nil when nobody or several users have it.
    package func userWithoutPassword(
        ofLogin login: Login,
        in application: Application
    ) async throws(Failure) -> UserWithoutPassword? {
        // As `not exists`, PostgreSQL would make the condition a join, and read both tables from end to end.
        let result = try await query(
            """
            select u.object_id, u.\(identifier: application.settings.identityProperty.text)
            from \(identifier: application.schema).users u
            where \(login.isOfUser(in: application)) and (
                select p.object_id from \(identifier: application.schema).passwords p where p.object_id = u.object_id
            ) is null
            limit 2
            """,
            of: application
        )
        guard result.count == 1 else { return nil }
        return try result.first(into: UserWithoutPassword.init)
    }

    /// Stores the first password of a user, in one statement.
    ///
    /// - Returns: False if nothing was stored: the user has a password meanwhile or no longer has the login name, or
    ///   another user has it.
    package func storeFirstPassword(
        _ password: StoredPassword,
        ofLogin login: Login,
        in application: Application
    ) async throws(Failure) -> Bool {
        let schema = application.schema
        let result = try await query(
            """
            with person as (
                select u.object_id from \(identifier: schema).users u
                where u.object_id = \(password.objectID.uuid) and \(login.isOfUser(in: application))
                for no key update
            )
            insert into \(identifier: schema).passwords (object_id, login, hash, hash_key_id)
            select person.object_id, \(password.login), \(password.hash.bytes), \(password.hash.keyID) from person
            on conflict do nothing
            returning object_id
            """,
            of: application
        )
        return result.count == 1
    }
}

extension Login {
    /// Returns the condition that the user `u` has this login name, for which an index exists.
    ///
    /// E-mail addresses are compared in lower case. Another property is compared as the login name was written and in
    /// its normalized form, since its index has the values as they are.
    fileprivate func isOfUser(in application: Application) -> Statement {
        let name = application.settings.identityProperty
        guard name != .email else { return "lower(u.email) = \(key)" }
        guard let property = application.properties.first(where: { $0.name == name }) else { return "false" }
        return "\(unsafeRaw: property.key(of: "u." + quoted(name.text))) in (\(text), \(key))"
    }
}
