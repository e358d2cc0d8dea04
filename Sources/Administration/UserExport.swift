import Applications
package import Domain
import Encodings
import Mapping
import Secrets
import Store

/// The options of an export of all users of an application.
package struct UserExport: Sendable {
    package let format: Format
    package let withPasswordHashes: Bool
    package let withIdentities: Bool

    package enum Format: String, Sendable, CaseIterable {
        /// One JSON object per line. `user import` reads this form.
        case ndjson
        /// CSV as in RFC 4180, for spreadsheets.
        case csv
    }

    package init(format: Format, withPasswordHashes: Bool, withIdentities: Bool) {
        self.format = format
        self.withPasswordHashes = withPasswordHashes
        self.withIdentities = withIdentities
    }
}

extension UserAdministration {
    /// The number of users that are read and held in memory at once.
    private static let usersAtOnce = 500

    /// Exports all users of an application in the order of their ids, in parts.
    ///
    /// A user who is created or deleted during the export may be in the export or not. The audit log records the
    /// options before the first part, and the number of users at the end.
    ///
    /// - Parameters:
    ///   - application: The application.
    ///   - export: The options.
    ///   - actor: The operator.
    ///   - take: Receives each part as text, with the number of users so far.
    /// - Returns: The number of users.
    /// - Throws: A failure, and the errors of `take`.
    package func exportAll(
        of application: String,
        _ export: UserExport,
        by actor: ChangeAuthor,
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
        guard let encrypted = exported.passwordHash else { return nil }
        let user = exported.user.objectID
        guard let hash = masterKeys.open(encrypted, at: .passwordHash(application: application, user: user)) else {
            throw Failure(
                .internal,
                "A password hash cannot be decrypted with the available master keys.",
                cause: "the hash of \(user) is under master key \(encrypted.keyID), or was changed by other means"
            )
        }
        return hash
    }
}

/// The values of a user in an export, and their order.
private struct ExportColumns {
    private let export: UserExport
    private let properties: [Property]

    init(_ export: UserExport, properties: [Property]) {
        self.export = export
        self.properties = properties
    }

    /// Returns whether an export has a member of its own with this name, which clients can never write.
    ///
    /// Readers of an export trust such members. A property with the same name goes into the member `properties`, since
    /// clients can write properties.
    private static func isOurs(_ name: String) -> Bool {
        [
            "emailVerified", "login", "roles", "firebaseUid", "firebaseClaims", "passwordHash", "identities",
            "properties",
        ]
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
            "firebaseUid": exported.uid.map(JSONValue.string) ?? .null,
            "firebaseClaims": exported.claims.flatMap(CustomClaims.json).map(JSONValue.object) ?? .null,
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
        names += ["login", "roles", "firebaseUid", "firebaseClaims"]
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
            .text(exported.login), .list(exported.roles.map(JSONValue.string)), .text(exported.uid),
            exported.claims.map(CSV.Cell.plain) ?? .text(nil),
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

/// Comma-separated values (RFC 4180) that are safe in a spreadsheet.
enum CSV {
    enum Cell {
        /// A text that a user may have written; nil for an empty cell.
        case text(String?)
        /// A value that needs no protection against formulas: a number, truth value, time, id, status, or JSON.
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

    /// Returns whether a spreadsheet may read a text as a formula.
    ///
    /// A formula could send data of the spreadsheet to others, or start a program. An export therefore writes an
    /// apostrophe in front of the text.
    private static func isFormula(_ text: String) -> Bool {
        // The full-width forms of the four signs begin a formula in some languages.
        let signs = "=+-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars
        return text.unicodeScalars.first.map(signs.contains) ?? false
    }

    /// Returns the text of a cell, in quotation marks if it contains a character that may separate cells.
    ///
    /// Without the quotation marks, a spreadsheet could split the text, and read the part after the separator as a
    /// formula.
    private static func quoted(_ text: String) -> String {
        let needsQuotes = text.utf8.contains { $0.isOne(of: "\", ;\t\r\n") }
        return needsQuotes ? "\"" + text.replacing("\"", with: "\"\"") + "\"" : text
    }
}
