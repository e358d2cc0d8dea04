package import Domain
import FoundationEssentials
import Postgres

/// The stored password of a user.
package struct StoredPassword: Sendable {
    package let objectID: ObjectID
    /// The login name in the normalized form by which login names are compared (`Login.key`).
    package let login: String
    /// The encrypted text of a hash, of this service or of another system.
    package let hash: EncryptedSecret

    package init(objectID: ObjectID, login: String, hash: EncryptedSecret) {
        self.objectID = objectID
        self.login = login
        self.hash = hash
    }
}

extension StoredPassword {
    /// Returns the statement that makes this the user's password.
    ///
    /// It violates a constraint if another user has the login name.
    func replacement(in application: Application) -> Statement {
        """
        insert into \(identifier: application.schema).passwords (object_id, login, hash, hash_key_id)
        values (\(objectID.uuid), \(login), \(hash.bytes), \(hash.keyID))
        on conflict (object_id) do update set
            login = excluded.login, hash = excluded.hash, hash_key_id = excluded.hash_key_id, changed = now()
        """
    }
}

extension Store {
    /// Returns the password of a login name; nil when no user has it.
    package func password(ofLogin login: String, in application: Application) async throws(Failure) -> StoredPassword? {
        try await password(where: "login = \(login)", in: application)
    }

    /// Returns the password of a user; nil when the user has none.
    package func password(of user: ObjectID, in application: Application) async throws(Failure) -> StoredPassword? {
        try await password(where: "object_id = \(user.uuid)", in: application)
    }

    /// Returns the id of the master key that encrypts one of an application's password hashes; nil if there are no
    /// hashes.
    ///
    /// Except during a rotation, all hashes are encrypted with the same key.
    package func passwordKey(of application: Application) async throws(Failure) -> String? {
        try await query(
            "select hash_key_id from \(identifier: application.schema).passwords limit 1",
            of: application,
            isRare: true
        ).first(String.self)
    }

    /// Replaces a hash, unless the password has been changed meanwhile.
    ///
    /// - Returns: Whether the hash was replaced.
    package func replaceHash(
        _ former: EncryptedSecret,
        of user: ObjectID,
        by hash: EncryptedSecret,
        in application: Application
    ) async throws(Failure) -> Bool {
        let result = try await query(
            """
            update \(identifier: application.schema).passwords set hash = \(hash.bytes), hash_key_id = \(hash.keyID)
            where object_id = \(user.uuid) and hash = \(former.bytes)
            returning object_id
            """,
            of: application
        )
        return result.count == 1
    }

    package static let loginTakenByOther = Failure(
        .loginTakenByOther,
        "Another user already has this login name."
    )

    /// Returns the user of a login name; nil when no user has it.
    package func user(ofLogin login: String, in application: Application) async throws(Failure) -> User? {
        let columns = UserColumns(application: application)
        let result = try await query(
            """
            select \(unsafeRaw: columns.list(of: "u")) from \(identifier: application.schema).users u where u.object_id = (
                select object_id from \(identifier: application.schema).passwords where login = \(login)
            )
            """,
            of: application
        )
        return try result.first(by: columns.user)
    }

    private func password(
        where condition: Statement,
        in application: Application
    ) async throws(Failure) -> StoredPassword? {
        let result = try await query(
            """
            select object_id, login, hash, hash_key_id from \(identifier: application.schema).passwords where \(condition)
            """,
            of: application
        )
        return try result.first(into: StoredPassword.init)
    }
}
