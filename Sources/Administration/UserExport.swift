import Applications
import Mapping
import Secrets
import Store
package import Vocabulary

/// How all users of an application are exported.
package struct UserExport: Sendable {
    package let format: Format
    package let withPasswordHashes: Bool
    package let withIdentities: Bool

    package enum Format: String, Sendable, CaseIterable {
        /// A JSON object a line, which `user import` reads back.
        case ndjson
        /// RFC 4180, for spreadsheets.
        case csv
    }

    package init(format: Format, withPasswordHashes: Bool, withIdentities: Bool) {
        self.format = format
        self.withPasswordHashes = withPasswordHashes
        self.withIdentities = withIdentities
    }
}

extension UserAdministration {
    /// Users that are read, and held in memory, at once.
    private static let usersAtOnce = 500

    /// All users of an application in the order of their ids, a part at a time.
    ///
    /// Who comes or goes meanwhile may be among them or not. The audit log gets what was asked for before anything is
    /// given out, and how many there were at the end.
    ///
    /// - Parameters:
    ///   - application: Whose users.
    ///   - export: What of them, and how.
    ///   - actor: Who asks.
    ///   - take: Gets each part as text, with the number of users so far.
    /// - Returns: How many there were.
    /// - Throws: A failure, and what `take` throws.
    package func exportAll(
        of application: String,
        _ export: UserExport,
        by actor: Actor,
        take: (_ part: String, _ users: Int) async throws -> Void
    ) async throws -> Int {
        let owner = try await owner(application)
        let wanted: JSONObject = [
            "format": .string(export.format.rawValue),
            "passwordHashes": .bool(export.withPasswordHashes),
            "identities": .bool(export.withIdentities),
        ]
        try await store.recordReading(.exportAll, of: nil, wanted, in: owner.id, by: actor)
        let columns = ExportColumns(export, properties: owner.properties)
        if export.format == .csv { try await take(CSV.line(columns.names.map { .text($0) }), 0) }
        var (count, last) = (0, ObjectID?.none)
        while true {
            let users = try await store.exportedUsers(
                of: owner,
                after: last,
                limit: Self.usersAtOnce,
                withPasswordHashes: export.withPasswordHashes,
                withIdentities: export.withIdentities
            )
            guard let end = users.last else { break }
            var part = ""
            for user in users {
                let hash = try passwordHash(of: user, in: owner.id)
                switch export.format {
                case .ndjson: part += JSONValue.object(columns.object(of: user, hash)).text + "\n"
                case .csv: part += CSV.line(columns.cells(of: user, hash))
                }
            }
            (count, last) = (count + users.count, end.user.objectID)
            try await take(part, count)
        }
        let found: JSONObject = ["found": .integer(Int64(count))]
        try await store.recordReading(.exportAll, of: nil, found, in: owner.id, by: actor)
        return count
    }

    private func passwordHash(of exported: ExportedUser, in application: ApplicationID) throws(Failure) -> Secret? {
        guard let sealed = exported.passwordHash else { return nil }
        let user = exported.user.objectID
        guard let hash = masterKeys.open(sealed, at: .passwordHash(application: application, user: user)) else {
            throw Failure(
                .internal,
                "The hash of a password cannot be opened with the master keys at hand.",
                cause: "the hash of \(user) is under master key \(sealed.keyID), or was changed by other means"
            )
        }
        return hash
    }
}

/// What an export says of a user, and in which order.
private struct ExportColumns {
    private let export: UserExport
    private let properties: [Property]

    init(_ export: UserExport, properties: [Property]) {
        self.export = export
        self.properties = properties
    }

    /// The members of which only the service itself says something.
    ///
    /// Whoever reads an export believes them, and clients can write into properties: so one that is called so stands
    /// in the member `properties` instead.
    private static func isOurs(_ name: String) -> Bool {
        ["emailVerified", "login", "roles", "passwordHash", "identities", "properties"]
            .contains { $0.hasSameBytes(as: name) }
    }

    // MARK: NDJSON

    func object(of exported: ExportedUser, _ passwordHash: Secret?) -> JSONObject {
        let user = exported.user
        var object: JSONObject = [
            "objectId": .string(user.objectID.description),
            "created": .integer(user.created),
            "updated": user.updated.map(JSONValue.integer) ?? .null,
            "lastLogin": user.lastLogin.map(JSONValue.integer) ?? .null,
            "userStatus": .string(user.status.rawValue),
            "blUserLocale": user.locale.map(JSONValue.string) ?? .null,
            "emailVerified": .bool(user.emailVerified),
            "login": exported.login.map(JSONValue.string) ?? .null,
            "roles": .array(exported.roles.map(JSONValue.string)),
        ]
        if export.withPasswordHashes {
            object.append("passwordHash", passwordHash.map { .string($0.reveal()) } ?? .null)
        }
        if export.withIdentities { object.append("identities", .array(exported.identities.map(\.json))) }
        var aside = JSONObject()
        for (name, value) in user.properties.map({ ($0.name.text, $0.value?.json ?? .null) })
            + user.dynamic.members.map({ ($0.key, $0.value) })
        {
            if Self.isOurs(name) { aside.append(name, value) } else { object.append(name, value) }
        }
        if !aside.members.isEmpty { object.append("properties", .object(aside)) }
        return object
    }

    // MARK: CSV

    var names: [String] {
        var names = ["objectId", "created", "updated", "lastLogin", "userStatus", "blUserLocale", "emailVerified"]
        names += ["login", "roles"]
        if export.withPasswordHashes { names.append("passwordHash") }
        if export.withIdentities { names.append("identities") }
        names += properties.map { Self.isOurs($0.name.text) ? "properties.\($0.name)" : $0.name.text }
        return names + ["dynamic"]
    }

    func cells(of exported: ExportedUser, _ passwordHash: Secret?) -> [CSV.Cell] {
        let user = exported.user
        var cells: [CSV.Cell] = [
            .plain(user.objectID.description), .moment(user.created), .moment(user.updated), .moment(user.lastLogin),
            .plain(user.status.rawValue), .text(user.locale), .plain(String(user.emailVerified)),
            .text(exported.login), .list(exported.roles.map(JSONValue.string)),
        ]
        if export.withPasswordHashes { cells.append(.text(passwordHash?.reveal())) }
        if export.withIdentities { cells.append(.list(exported.identities.map(\.json))) }
        for (_, value, _) in user.properties { cells.append(.value(value)) }
        return cells + [user.dynamic.members.isEmpty ? .text(nil) : .plain(JSONValue.object(user.dynamic).text)]
    }
}

extension ExportedUser.Identity {
    fileprivate var json: JSONValue {
        .object([
            "provider": .string(provider), "app": .string(app), "subject": .string(subject),
            "created": .integer(created),
        ])
    }
}

/// Comma-separated values (RFC 4180) that a spreadsheet can be trusted with.
enum CSV {
    enum Cell {
        /// What was written by people, or nothing.
        case text(String?)
        /// What is a number, a moment, a word of ours or JSON.
        case plain(String)
    }

    static func line(_ cells: [Cell]) -> String { cells.map(\.text).joined(separator: ",") + "\r\n" }
}

extension CSV.Cell {
    static func moment(_ milliseconds: Int64?) -> CSV.Cell {
        guard let milliseconds else { return .text(nil) }
        return .plain(MomentText.write(milliseconds) ?? String(milliseconds))
    }

    static func list(_ elements: [JSONValue]) -> CSV.Cell {
        elements.isEmpty ? .text(nil) : .plain(JSONValue.array(elements).text)
    }

    static func value(_ value: PropertyValue?) -> CSV.Cell {
        switch value {
        case nil: .text(nil)
        case .text(let text): .text(text)
        case .dateTime(let milliseconds): .moment(milliseconds)
        case .integer, .double, .boolean, .json: .plain(value?.json.text ?? "")
        case .date(let date): .plain(date.description)
        }
    }

    fileprivate var text: String {
        switch self {
        case .text(nil): ""
        case .text(let text?) where text.isEmpty: "\"\""
        case .text(let text?): Self.quoted(Self.isFormula(text) ? "'" + text : text)
        case .plain(let text): Self.quoted(text)
        }
    }

    /// Whether a spreadsheet may take a text for a formula, which could send the sheet elsewhere or start a program:
    /// an apostrophe in front makes it a text.
    private static func isFormula(_ text: String) -> Bool {
        // With the wide forms of the four signs, which count in some languages.
        let signs = "=+-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars
        return text.unicodeScalars.first.map(signs.contains) ?? false
    }

    /// In quotes also where something else than a comma could be taken for a separator: a formula could stand behind.
    private static func quoted(_ text: String) -> String {
        let needsQuotes = text.utf8.contains { $0.isOne(of: "\", ;\t\r\n") }
        return needsQuotes ? "\"" + text.replacing("\"", with: "\"\"") + "\"" : text
    }
}
