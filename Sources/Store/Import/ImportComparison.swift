package import Domain
import Postgres

/// What an application has of the user of a record.
package struct StoredCounterpart: Sendable {
    /// Where an identity of the record is.
    package enum Owner: Sendable {
        case user, another, nobody
    }

    /// The record that was compared.
    package let row: ImportRow
    /// Whether the application has the user.
    package let isThere: Bool
    package let hasPassword: Bool
    /// Whether another user logs in with the login name of the record.
    package let loginIsShared: Bool
    /// Whether another user has the e-mail address of the record.
    package let emailIsShared: Bool
    /// The names of the properties of which the record has a value that the user does not have; empty if the
    /// application does not have the user.
    package let differences: [String]
    /// The providers of the record's identities, each with the owner of the identity.
    package fileprivate(set) var identities: [(provider: ProviderName, owner: Owner)] = []
}

/// The records of a batch beside what the application has of them.
package struct ImportComparison: Sendable {
    package fileprivate(set) var counterparts: [StoredCounterpart] = []
    /// The records that cannot become users.
    package fileprivate(set) var refusals: [RecordFinding] = []
}

extension Store {
    /// Compares records with the users of an application.
    ///
    /// Nothing is written but temporary tables. Of passwords, only the presence is compared, since a login replaces an
    /// imported hash. Of roles and of the confirmation of an address, only a loss is a difference: the user may have
    /// got more here.
    ///
    /// - Parameters:
    ///   - batch: The records.
    ///   - application: The application of the users.
    /// - Returns: A counterpart for each row, in the order of the file, and the refused records.
    /// - Throws: `store_unavailable` and similar failures.
    package func compare(
        _ batch: ImportBatch,
        in application: Application
    ) async throws(Failure) -> ImportComparison {
        try await part(batch, in: application, joiningBy: ImportComparison.joined) { batch in
            try await transaction(endingBy: "rollback", of: application) { connection -> ImportComparison in
                _ = try await connection.stage(batch, [], in: application) { _ in [] }
                // A batch must not read all users, unless an adopted table has no index of addresses.
                _ = try await connection.query(
                    "select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)"
                )
                if let mark = ComparisonStatement.sharedEmails(in: application) { _ = try await connection.query(mark) }
                let users = try await connection.query(ComparisonStatement.users(in: application)).all(
                    Bool.self,
                    Bool.self,
                    Bool.self,
                    Bool.self,
                    [String].self
                )
                let identities = try await connection.query(ComparisonStatement.identities(in: application)).all(
                    Int.self,
                    String.self,
                    Bool?.self
                )
                var comparison = ImportComparison()
                comparison.refusals = batch.refusals
                comparison.counterparts = zip(batch.rows, users).map { StoredCounterpart($0, $1) }
                comparison.add(identities)
                return comparison
            }
        }
    }
}

extension ImportComparison {
    @Sendable
    fileprivate static func joined(_ first: Self, _ second: Self) -> Self {
        var sum = first
        sum.counterparts += second.counterparts
        sum.refusals += second.refusals
        return sum
    }

    /// Adds identities to their records.
    ///
    /// - Parameter identities: For each identity, in the order of the file: the number of the record, the provider, and
    ///   whether the identity belongs to the record's user; nil if it belongs to nobody.
    fileprivate mutating func add(_ identities: [(Int, String, Bool?)]) {
        var index = 0
        for (record, name, isOfUser) in identities {
            while index < counterparts.count, counterparts[index].row.record < record { index += 1 }
            guard index < counterparts.count, let provider = ProviderName(name) else { return }
            let owner: StoredCounterpart.Owner =
                switch isOfUser {
                case true?: .user
                case false?: .another
                case nil: .nobody
                }
            counterparts[index].identities.append((provider, owner))
        }
    }
}

extension StoredCounterpart {
    fileprivate init(_ row: ImportRow, _ stored: (Bool, Bool, Bool, Bool, [String])) {
        self.row = row
        (isThere, hasPassword, loginIsShared, emailIsShared, differences) = stored
    }
}

/// The statements that compare the rows of `import_rows` and `import_identities` with an application's users.
///
/// Each row needs single lookups by an index, however large the tables are. LIMIT keeps PostgreSQL from reading whole
/// tables instead.
private enum ComparisonStatement {
    /// Returns the statement that marks the rows whose e-mail address another user has; nil without that property.
    ///
    /// It is a join, since an adopted table may have no index of addresses.
    static func sharedEmails(in application: Application) -> Statement? {
        guard let email = application.properties.firstIndex(where: { $0.name == .email }) else { return nil }
        return """
            update import_rows r set verdict = 'emailShared' where exists (
                select from \(identifier: application.schema).users u
                where lower(u.email) = lower(r.p\(unsafeRaw: String(email))) and u.object_id <> r.object_id
            )
            """
    }

    /// Returns the query for the users: whether they exist and have a password, whether others have their login name
    /// and address, and which values differ.
    static func users(in application: Application) -> Statement {
        let schema = Statement.quoted(identifier: application.schema)
        var conditions = [
            ("userStatus", #"u.user_status is distinct from r.user_status collate "C""#),
            ("emailVerified", "r.email_verified and u.email_verified is not true"),
            ("locale", #"r.locale is not null and u.locale is distinct from r.locale collate "C""#),
            (
                "roles",
                """
                exists (select from unnest(r.roles) role where not exists (
                    select from \(schema).user_roles w where w.object_id = r.object_id and w.role = role collate "C"))
                """
            ),
            ("firebaseUid", "r.uid is not null and f.uid is distinct from r.uid"),
            ("firebaseClaims", "r.claims is not null and f.claims is distinct from r.claims"),
        ]
        for (offset, property) in application.properties.enumerated() {
            let column = "u.\(quoted(property.name.text))::\(property.type.sqlType)"
            // The columns of an adopted table may have another collation.
            let value = property.type.isText ? column + #" collate "C""# : column
            let given = "r.p\(offset)"
            conditions.append((property.name.text, "\(given) is not null and \(value) is distinct from \(given)"))
        }
        let differences = conditions.map { "case when \($0.1) then '\($0.0)' end" }.joined(separator: ",\n")
        return """
            select u.object_id is not null,
                coalesce(
                    (select true from \(unsafeRaw: schema).passwords p where p.object_id = r.object_id limit 1), false
                ),
                coalesce((
                    select p.object_id <> r.object_id from \(unsafeRaw: schema).passwords p
                    where p.login = r.login limit 1
                ), false),
                r.verdict is not null,
                case when u.object_id is null then '{}' else array_remove(array[\(unsafeRaw: differences)], null)
                    || array(
                        select d.key from jsonb_each(r.dynamic) d where u.dynamic -> d.key is distinct from d.value
                        order by d.key
                    )
                end
            from import_rows r
            left join lateral (
                select * from \(unsafeRaw: schema).users u where u.object_id = r.object_id limit 1
            ) u on true
            left join lateral (
                select uid, claims from \(unsafeRaw: schema).firebase_users f where f.object_id = r.object_id limit 1
            ) f on true
            order by r.record
            """
    }

    /// Returns the query for the identities: the record, the provider, and whether the owner is the record's user.
    static func identities(in application: Application) -> Statement {
        """
        select n.record, n.provider, (
            select i.object_id = r.object_id from \(identifier: application.schema).identities i
            where i.provider = n.provider and i.provider_app = n.provider_app and i.subject = n.subject limit 1
        )
        from import_identities n join import_rows r using (record) order by n.record
        """
    }
}
