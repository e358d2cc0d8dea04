package import Domain
import Encodings
import Postgres

extension Store {
    /// Returns how many values of a column are encrypted with each master key, in the order of the keys' ids.
    ///
    /// - Parameters:
    ///   - column: The column.
    ///   - place: The application that has the table in its schema; nil for a table in the schema `federation`.
    /// - Returns: The ids of the keys and the numbers of values.
    /// - Throws: `store_unavailable` and similar failures.
    package func encrypted(
        _ column: EncryptedColumn,
        of place: ApplicationPlace?
    ) async throws(Failure) -> [(keyID: String, count: Int)] {
        try await query(
            """
            select \(unsafeRaw: column.keyID), count(*) from \(column.table(of: place))
            where \(unsafeRaw: column.keyID) is not null and \(unsafeRaw: column.condition) group by 1 order by 1
            """,
            in: tables(of: place)
        ).all { (keyID: $0, count: $1) }
    }

    /// Re-encrypts some values of a column that are encrypted with former master keys.
    ///
    /// This is one short transaction, which skips rows that other transactions have locked.
    ///
    /// - Parameters:
    ///   - column: The column.
    ///   - place: The application that has the table in its schema; nil for a table in the schema `federation`.
    ///   - keyID: The master key to encrypt with.
    ///   - formerKeyIDs: The former master keys; values under any other key stay unchanged.
    ///   - limit: The maximum number of values.
    ///   - actor: The author, for the audit log.
    ///   - reencrypt: Returns the new ciphertext; nil for a value that cannot be decrypted.
    /// - Returns: The number of values that were re-encrypted or deleted. If it is 0, rows that other transactions have
    ///   locked may still have such values; the method `encrypted` counts them.
    /// - Throws: `provider_misconfigured` for a required value that cannot be decrypted, `store_unavailable` and
    ///   similar failures. Nothing has changed then.
    package func reencrypt(
        _ column: EncryptedColumn,
        of place: ApplicationPlace?,
        notUnder keyID: String,
        among formerKeyIDs: [String],
        limit: Int,
        by actor: ChangeAuthor,
        reencrypt: @escaping @Sendable (EncryptedValue) -> EncryptedSecret?
    ) async throws(Failure) -> Int {
        guard let unopened = column.unopened else { return 0 }
        let tables = tables(of: place)
        return try await transaction(in: tables) { connection in
            let selection = column.selection(of: place, notUnder: keyID, among: formerKeyIDs, limit: limit)
            let values = try await connection.query(selection).all { row throws(PostgresError) in
                let application = try row.next(String?.self).flatMap { ApplicationID($0) }
                return EncryptedValue(
                    column: column,
                    application: place?.id ?? application,
                    key: try row.next(),
                    secret: try row.next()
                )
            }
            guard !values.isEmpty else { return 0 }
            for value in values {
                _ = try await connection.query(try value.replacement(by: reencrypt(value), orElse: unopened, at: place))
            }
            try await tables.record(column.entries(about: values, under: keyID, place), by: actor, with: connection)
            if column.isConfiguration {
                _ = try await connection.raiseRevision(of: Array(Set(values.compactMap(\.application))))
            }
            return values.count
        }
    }
}

extension EncryptedColumn {
    fileprivate func table(of place: ApplicationPlace?) -> Statement {
        "\(identifier: place?.schema ?? "federation").\(unsafeRaw: table)"
    }

    /// Returns the statement that locks and reads some rows whose values are encrypted with former master keys.
    ///
    /// Its result columns are the application, the values of the columns in `key`, and the ciphertext with the id of
    /// its master key.
    fileprivate func selection(
        of place: ApplicationPlace?,
        notUnder keyID: String,
        among formerKeyIDs: [String],
        limit: Int
    ) -> Statement {
        let hasApplication = owner == .applications || owner == .configurations
        let application: Statement = hasApplication ? "t.application_id" : "null::text"
        let configured: Statement = isConfiguration ? "join federation.applications a on a.id = t.application_id" : ""
        let locked: Statement = isConfiguration ? "a, t" : "t"
        // Tables of users have too many rows to sort.
        let order: Statement = isOfUsers ? "" : "order by 1, 2"
        return """
            select \(application), array[\(unsafeRaw: key.map(\.text).joined(separator: ", "))]::text[],
                coalesce(t.\(unsafeRaw: name), ''), t.\(unsafeRaw: self.keyID)
            from \(table(of: place)) t \(configured)
            where t.\(unsafeRaw: self.keyID) <> \(keyID) and t.\(unsafeRaw: self.keyID) = any (\(formerKeyIDs))
                and \(unsafeRaw: condition)
            \(order) limit \(limit) for no key update of \(locked) skip locked
            """
    }

    /// Returns the audit log entries that record the re-encryption of values.
    fileprivate func entries(
        about values: [EncryptedValue],
        under keyID: String,
        _ place: ApplicationPlace?
    ) -> [AuditRecord] {
        guard let entry else { return [] }
        let parts = Dictionary(grouping: values) { isConfiguration ? $0.application : place?.id }
        return parts.sorted { $0.key?.text ?? "" < $1.key?.text ?? "" }.map { application, values in
            let former = Set(values.map(\.secret.keyID)).sorted().map(JSONValue.string)
            var to: JSONObject = ["keyId": .string(keyID)]
            if let count = entry.count { to.append(count, .integer(Int64(values.count))) }
            return AuditRecord(
                "secrets.reencrypt",
                of: entry.target,
                in: application,
                from: .object(["keyIds": .array(former)]),
                to: .object(to)
            )
        }
    }
}

extension EncryptedColumn.Key {
    /// The SQL of the column's value in a row `t`, as text in the form that `EncryptedColumn.row` takes.
    fileprivate var text: String {
        switch self {
        case .text(let column): "t.\(column)"
        case .id(let column): "upper(t.\(column)::text)"
        case .bytes(let column): "translate(encode(t.\(column), 'base64'), e'+/=\\n', '-_')"
        }
    }

    fileprivate func condition(_ value: String) -> Statement {
        switch self {
        case .text(let column): "\(unsafeRaw: column) = \(value)"
        case .id(let column): "\(unsafeRaw: column) = \(value)::uuid"
        case .bytes(let column): "\(unsafeRaw: column) = \(Base64URL.decode(value.utf8) ?? [])"
        }
    }
}

extension EncryptedValue {
    /// Returns the statement that replaces this ciphertext by a new one of the same secret.
    ///
    /// If the value cannot be decrypted, `anew` is nil, and `EncryptedColumn.unopened` decides what happens.
    fileprivate func replacement(
        by anew: EncryptedSecret?,
        orElse unopened: EncryptedColumn.Unopened,
        at place: ApplicationPlace?
    ) throws(Failure) -> Statement {
        var condition: Statement = column.isConfiguration ? "application_id = \(application?.text)" : "true"
        for (column, value) in zip(column.key, key) { condition.append("and \(column.condition(value))") }
        let table = column.table(of: place)
        if let anew {
            return """
                update \(table) set \(unsafeRaw: column.name) = \(anew.bytes), \(unsafeRaw: column.keyID) = \(anew.keyID)
                where \(condition)
                """
        }
        switch unopened {
        case .forgotten(let changes): return "update \(table) set \(unsafeRaw: changes) where \(condition)"
        case .removed: return "delete from \(table) where \(condition)"
        case .refused(let what, let remedy):
            throw Failure(
                .providerMisconfigured,
                """
                \(what(self)) cannot be decrypted with its master key \(secret.keyID), because it was changed outside \
                the service. \(remedy), then rotate again.
                """
            )
        }
    }
}
