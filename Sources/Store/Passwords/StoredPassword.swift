import FoundationEssentials
import Postgres
package import Vocabulary

/// The password of a user as it is stored.
package struct StoredPassword: Sendable {
    package let objectID: ObjectID
    /// `Login.key` of what the user logs in by.
    package let login: String
    /// The text of a hash, ours or that of another system, sealed.
    package let hash: SealedSecret

    package init(objectID: ObjectID, login: String, hash: SealedSecret) {
        self.objectID = objectID
        self.login = login
        self.hash = hash
    }
}

extension StoredPassword {
    /// Makes it the user's, whatever the user had before; a login that is another user's is a violation of `passwords`.
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
    /// The password behind a login; nil when nobody has it.
    package func password(ofLogin login: String, in application: Application) async throws(Failure) -> StoredPassword? {
        try await password(where: "login = \(login)", in: application)
    }

    /// The password of a user; nil for those who have none.
    package func password(of user: ObjectID, in application: Application) async throws(Failure) -> StoredPassword? {
        try await password(where: "object_id = \(user.uuid)", in: application)
    }

    package static let loginTakenByOther = Failure(
        .loginTakenByOther,
        "Another user logs in by this already."
    )

    /// The user of a login; nil when nobody has it.
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
        return try read { () throws(PostgresError) in
            guard let row = result.first else { return nil }
            return try columns.user(in: row, from: 0)
        }
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
        return try read { () throws(PostgresError) in
            guard let row = result.first else { return nil }
            return StoredPassword(
                objectID: ObjectID(try row.decode(0, as: UUID.self)),
                login: try row.decode(1, as: String.self),
                hash: SealedSecret(
                    bytes: try row.decode(2, as: [UInt8].self),
                    keyID: try row.decode(3, as: String.self)
                )
            )
        }
    }
}
