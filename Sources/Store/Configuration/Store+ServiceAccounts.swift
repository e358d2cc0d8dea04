package import Domain
import Encodings
import Postgres

extension Store {
    /// The maximum number of service accounts of an application.
    package static let maxServiceAccounts: Int64 = 100

    /// Returns the service accounts of an application, in the order of their names, each with the time of its creation
    /// in milliseconds since 1970.
    package func serviceAccounts(
        of application: ApplicationID
    ) async throws(Failure) -> [(account: ServiceAccount, created: Int64)] {
        try await query(
            """
            select id, application_id, name, email, public_key, created from federation.service_accounts
            where application_id = \(application.text) order by name
            """
        ).all { row throws(PostgresError) in
            guard let account = try ServiceAccount(&row) else { return nil }
            return (account, try row.next(Timestamp.self).milliseconds)
        }
    }

    /// Returns the service account with an e-mail address; nil if there is none.
    package func serviceAccount(email: String) async throws(Failure) -> ServiceAccount? {
        try await serviceAccount(where: "email = \(email)")
    }

    /// Returns the service account whose key has an id; nil if there is none.
    package func serviceAccount(key id: String) async throws(Failure) -> ServiceAccount? {
        try await serviceAccount(where: "id = \(id)")
    }

    private func serviceAccount(where condition: Statement) async throws(Failure) -> ServiceAccount? {
        try await query(
            """
            select id, application_id, name, email, public_key from federation.service_accounts where \(condition)
            """
        ).first { row throws(PostgresError) in try ServiceAccount(&row) } ?? nil
    }

    /// Stores a service account.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - actor: The author of the change, for the audit log.
    /// - Returns: The time of its creation, in milliseconds since 1970.
    /// - Throws: `conflict` if an account has the name already, or if the application has as many accounts as it may;
    ///   `store_unavailable` and similar failures. Nothing is written then.
    package func add(_ account: ServiceAccount, by actor: ChangeAuthor) async throws(Failure) -> Int64 {
        try await transaction { connection in
            // One transaction at a time, so that the count is exact.
            let locked = try await connection.query(
                "select from federation.applications where id = \(account.application.text) for update"
            )
            guard locked.count == 1 else { throw Store.applicationRemoved }
            let count = try await connection.query(
                "select count(*) from federation.service_accounts where application_id = \(account.application.text)"
            ).first(Int64.self)
            guard let count, count < Self.maxServiceAccounts else {
                throw Failure(
                    .conflict,
                    """
                    An application can have at most \(Self.maxServiceAccounts) service accounts. Withdraw an unused one.
                    """
                )
            }
            let added = try await connection.query(
                """
                insert into federation.service_accounts (id, application_id, name, email, public_key)
                values (\(account.id), \(account.application.text), \(account.name), \(account.email),
                    \(JSONText(JSONValue.object(account.publicKey).text)))
                on conflict do nothing returning created
                """
            )
            guard let created = try added.first(Timestamp.self) else {
                throw Failure(
                    .conflict,
                    "There is already a service account \(account.email). Choose another name, or withdraw that one."
                )
            }
            try await connection.record([.account("create", account)], by: actor)
            return created.milliseconds
        }
    }

    /// Removes a service account: its key and its access tokens become invalid.
    ///
    /// - Parameters:
    ///   - name: The name of the account.
    ///   - application: The application of the account.
    ///   - actor: The author of the change, for the audit log.
    /// - Returns: Whether there was such an account.
    /// - Throws: `store_unavailable` and similar failures.
    package func removeServiceAccount(
        _ name: String,
        of application: ApplicationID,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Bool {
        try await transaction { connection in
            let removed = try await connection.query(
                """
                delete from federation.service_accounts where application_id = \(application.text) and name = \(name)
                returning id, application_id, name, email, public_key
                """
            ).first { row throws(PostgresError) in try ServiceAccount(&row) }
            guard let account = removed ?? nil else { return false }
            try await connection.record([.account("withdraw", account)], by: actor)
            return true
        }
    }
}

extension AuditRecord {
    fileprivate static func account(_ action: String, _ account: ServiceAccount) -> AuditRecord {
        AuditRecord(
            "service-account.\(action)",
            of: account.name,
            in: account.application,
            to: .object(["email": .string(account.email), "key": .string(account.id)])
        )
    }
}

extension ServiceAccount {
    /// Reads the columns `id, application_id, name, email, public_key`; nil if the id of the application is malformed.
    fileprivate init?(_ row: inout Row) throws(PostgresError) {
        let (id, application) = (try row.next(String.self), try row.next(String.self))
        let (name, email) = (try row.next(String.self), try row.next(String.self))
        let publicKey = try row.next(JSONValue.self).object ?? [:]
        guard let application = ApplicationID(application) else {
            row.skipRest()
            return nil
        }
        self.init(id: id, application: application, name: name, email: email, publicKey: publicKey)
    }
}
