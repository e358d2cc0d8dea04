import Domain
import Encodings
import FoundationEssentials
import Postgres

/// What a merge of two users stores, so that it can be undone.
struct MergeRecord: Sendable {
    struct Password: Sendable {
        let login: String
        let hash: Secret
        /// In milliseconds since 1970 UTC.
        let changed: Int64
    }

    /// The merged user's whole row, as JSON text, with the names of the table's columns.
    let row: String
    /// The survivor's row before the merge, as JSON text, with the names of the view `users`; `after` likewise.
    let before: String
    var after = ""
    /// The survivor's columns that the merge may have changed.
    let changed: [String]
    let password: Password?
    /// Provider, app and subject of each identity that the merged user had.
    var identities: [[String]] = []
    var factors: [ObjectID] = []
    var roles: [String] = []
    /// The roles that the survivor got by the merge.
    var addedRoles: [String] = []
    var invitations: [ObjectID] = []
    /// The rows of mailed links that undo changes of the merged user, as a JSON list; nil if there are none.
    var links: String?
    /// The users who had been merged into the merged user.
    var merged: [ObjectID] = []
    /// The merged user's uid for clients of Firebase, and custom claims.
    var uid: String?
    var claims: String?
    /// Whether the survivor got the uid, and the claims.
    var takes = (uid: false, claims: false)

    init(row: String, before: String, changed: [String], password: Password?) {
        self.row = row
        self.before = before
        self.changed = changed
        self.password = password
    }
}

extension MergeRecord {
    private enum Key {
        static let (row, before, after, changed) = ("row", "before", "after", "changed")
        static let (login, hash, passwordChanged) = ("login", "hash", "passwordChanged")
        static let (identities, factors, roles, addedRoles) = ("identities", "factors", "roles", "addedRoles")
        static let (invitations, merged, links) = ("invitations", "merged", "links")
        static let (uid, claims, takesUID, takesClaims) = ("uid", "claims", "takesUid", "takesClaims")
    }

    /// The identities as JSON text: a list of lists.
    var identityList: String {
        JSONValue.array(identities.map { .array($0.map(JSONValue.string)) }).text
    }

    /// The record as JSON text, which contains personal data and a password hash.
    var text: Secret {
        func list(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }
        func list(_ ids: [ObjectID]) -> JSONValue { list(ids.map(\.description)) }
        var object: JSONObject = [
            Key.row: .string(row), Key.before: .string(before), Key.after: .string(after), Key.changed: list(changed),
            Key.identities: .array(identities.map(list)), Key.factors: list(factors), Key.roles: list(roles),
            Key.addedRoles: list(addedRoles), Key.invitations: list(invitations), Key.merged: list(merged),
        ]
        if let links { object.append(Key.links, .string(links)) }
        if let uid { object.append(Key.uid, .string(uid)) }
        if let claims { object.append(Key.claims, .string(claims)) }
        if takes.uid { object.append(Key.takesUID, .bool(true)) }
        if takes.claims { object.append(Key.takesClaims, .bool(true)) }
        if let password {
            object.append(Key.login, .string(password.login))
            object.append(Key.hash, .string(password.hash.reveal()))
            object.append(Key.passwordChanged, .integer(password.changed))
        }
        return Secret(JSONValue.object(object).text)
    }

    /// Reads a stored record; nil if another version of the service wrote it in another form.
    init?(_ text: Secret) {
        guard let object = try? JSONParser.parse(text.reveal(), limits: .stored).object,
            let row = object[Key.row]?.string, let before = object[Key.before]?.string,
            let after = object[Key.after]?.string
        else { return nil }
        func texts(_ value: JSONValue?) -> [String] { (value?.array ?? []).compactMap(\.string) }
        func ids(_ key: String) -> [ObjectID] { texts(object[key]).compactMap { ObjectID($0) } }
        var password: Password?
        if let login = object[Key.login]?.string, let hash = object[Key.hash]?.string,
            let changed = object[Key.passwordChanged]?.integer
        {
            password = Password(login: login, hash: Secret(hash), changed: changed)
        }
        self.init(row: row, before: before, changed: texts(object[Key.changed]), password: password)
        self.after = after
        identities = (object[Key.identities]?.array ?? []).map(texts).filter { $0.count == 3 }
        factors = ids(Key.factors)
        roles = texts(object[Key.roles])
        addedRoles = texts(object[Key.addedRoles])
        invitations = ids(Key.invitations)
        merged = ids(Key.merged)
        links = object[Key.links]?.string
        (uid, claims) = (object[Key.uid]?.string, object[Key.claims]?.string)
        takes = (object[Key.takesUID]?.bool == true, object[Key.takesClaims]?.bool == true)
    }
}

/// Reads and writes whole rows of the table with an application's users, including columns that are no properties.
struct WholeRow: Sendable {
    /// A column that can be written.
    struct Column: Sendable {
        /// The name in the view `users`; nil if the view does not show the column.
        let name: String?
        /// The name in the table.
        let column: String
        let type: String
    }

    let columns: [Column]
    private let table: String

    init(of application: Application, on connection: PostgresConnection) async throws {
        let own = "\(quoted(application.schema)).users"
        let result = try await connection.query(
            """
            select case when u.relation <> to_regclass(\(own)) then u.relation::regclass::text end,
                u.name, u.column_name, u.type
            from federation.user_columns(\(application.schema)) u where not u.is_generated order by u.number
            """
        )
        let rows = try result.all { row throws(PostgresError) in
            (
                try row.next(String?.self),
                Column(name: try row.next(), column: try row.next(), type: try row.next())
            )
        }
        columns = rows.map(\.1)
        // An adopted table has a name of its own.
        table = rows.first?.0 ?? own
    }

    /// The columns with their types, for `jsonb_to_record`.
    func types(of columns: [Column]) -> String {
        columns.map { "\(quoted($0.column)) \($0.type)" }.joined(separator: ", ")
    }

    /// Returns the column that the view `users` shows under a name.
    func column(_ name: String) -> Column? { columns.first { $0.name?.hasSameBytes(as: name) == true } }

    /// Returns a user's whole row as JSON text, with the names of the table's columns.
    func read(_ user: ObjectID, on connection: PostgresConnection) async throws(PostgresError) -> String? {
        guard let id = column("object_id")?.column else { return nil }
        return try await connection.query(
            "select to_jsonb(u)::text from \(unsafeRaw: table) u where \(identifier: id) = \(user.uuid)"
        ).first(String.self)
    }

    /// Inserts a whole row that `read` returned.
    func insert(_ row: String, on connection: PostgresConnection) async throws(PostgresError) {
        let names = columns.map { quoted($0.column) }.joined(separator: ", ")
        let values = columns.map { "v.\(quoted($0.column))" }.joined(separator: ", ")
        _ = try await connection.query(
            """
            insert into \(unsafeRaw: table) (\(unsafeRaw: names))
            select \(unsafeRaw: values)
            from jsonb_to_record(\(JSONText(row))::jsonb) v (\(unsafeRaw: types(of: columns)))
            """
        )
    }
}
