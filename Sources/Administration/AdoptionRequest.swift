import Description
import Domain
import Encodings
import Store

/// An operator's request to adopt an existing table.
///
/// The table becomes the users table of an application.
package struct AdoptionRequest: Sendable {
    /// The name of the table in SQL, with its schema.
    package var table: String
    /// The column that identifies a row.
    ///
    /// If its type is UUID, its values are also the users' object ids.
    package var key: String
    /// The column with the creation time of a row.
    package var created: String?
    /// The properties of users, each with the column of the table that has its values.
    package var properties: [(name: String, column: String)]
    /// Whether the adoption may rewrite the whole table on disk.
    ///
    /// All other transactions that use the table wait during the rewrite.
    package var mayRewrite: Bool
    package var identities: Identities?

    /// The column with the users' ids at a provider (subjects), from which the adoption creates identities.
    package struct Identities: Sendable {
        package var provider: String
        package var column: String
        /// The provider's app to which the ids belong.
        ///
        /// It may be nil if the application has exactly one app at the provider.
        package var app: String?

        package init(provider: String, column: String, app: String? = nil) {
            self.provider = provider
            self.column = column
            self.app = app
        }
    }

    package init(
        table: String,
        key: String,
        created: String? = nil,
        properties: [(name: String, column: String)] = [],
        mayRewrite: Bool = false,
        identities: Identities? = nil
    ) {
        self.table = table
        self.key = key
        self.created = created
        self.properties = properties
        self.mayRewrite = mayRewrite
        self.identities = identities
    }
}

/// Checks an operator's request to adopt an existing table as the users table of an application.
///
/// The check decides for each column of the table what the application stores in it, or collects all problems of the
/// request.
struct AdoptionReader {
    let request: AdoptionRequest
    let application: StoredApplication
    let table: ExistingTable
    private(set) var problems = DocumentProblems()
    private var columns: [Adoption.Column] = []
    private var declared: [Property] = []

    init(request: AdoptionRequest, application: StoredApplication, table: ExistingTable) {
        self.request = request
        self.application = application
        self.table = table
    }

    /// Checks the request against the table, and returns the adoption if there is no problem.
    ///
    /// - Throws: All problems, each with the option or the column that has the problem.
    mutating func read() throws(DocumentProblems) -> Adoption {
        if let obstacle = table.obstacle { problem(request.table, obstacle) }
        if let other = table.application, !other.hasSameBytes(as: application.id.text) {
            problem(request.table, "is already, or is going to be, the users table of the application \(other)")
        }
        addSystemColumns()
        addProperties()
        checkRest()
        let identities = readIdentities()
        let adoption = Adoption(
            application: application,
            table: table,
            columns: columns,
            declared: declared,
            mayRewrite: request.mayRewrite,
            identities: identities
        )
        if adoption.updatesRows, !table.updateTriggers.isEmpty {
            problem(
                request.table,
                """
                has update triggers, \(table.updateTriggers.joined(separator: ", ")), which would fire when each row \
                gets an object id: disable them meanwhile, or use --rewrite, which fires none but blocks the table
                """
            )
        }
        guard problems.isEmpty else { throw problems }
        return adoption
    }

    private mutating func problem(_ place: String, _ text: String) { problems.add(JSONPointer() / place, text) }

    // MARK: Columns

    private mutating func addSystemColumns() {
        for (name, definition) in Adoption.systemColumns {
            switch name {
            case "object_id" where isKeyObjectID: columns.append(Adoption.Column(name, is: request.key))
            case "created" where request.created != nil: addCreated(request.created ?? name)
            default: columns.append(Adoption.Column(name, is: freeName(for: name), adding: definition))
            }
        }
    }

    /// Whether the column that identifies a row of the table has the type UUID.
    private var isKeyObjectID: Bool { table.column(request.key)?.type == "uuid" }

    private mutating func addCreated(_ name: String) {
        guard let column = ownColumn(name) else { return }
        guard column.type == PropertyType.dateTime.sqlType, column.notNull else {
            return problem(
                name,
                """
                cannot be the time of creation, which is a timestamp with time zone that is NOT NULL: this is \
                \(column.type)\(column.notNull ? "" : " and allows NULL"). Change the column, or leave out --created: \
                existing users then get the time of the adoption
                """
            )
        }
        columns.append(Adoption.Column("created", is: name))
    }

    private mutating func addProperties() {
        var named = request.properties
        for property in application.properties {
            let position = named.firstIndex { $0.name.hasSameBytes(as: property.name.text) }
            if let position {
                add(property, is: named.remove(at: position).column)
            } else if isOwn(property.name.text) {
                add(property, is: property.name.text)
            } else if property.required {
                problem(property.name.text, "is required, and no column of the table is given for it")
            } else {
                let column = freeName(for: property.name.text)
                columns.append(Adoption.Column(property.name.text, is: column, adding: .property(property.type)))
            }
        }
        for (name, column) in named { declare(name, as: column) }
    }

    /// Uses an existing column of the table for the values of a declared or built-in property.
    private mutating func add(_ property: Property, is name: String) {
        guard let column = ownColumn(name) else { return }
        guard let types = Self.types[column.type], types.contains(property.type) else {
            return problem(
                name,
                """
                is \(column.type), and \(property.name) is \(property.type.rawValue), which is \(property.type.sqlType): name \
                another column, or change its type
                """
            )
        }
        guard !column.isGenerated else { return problem(name, "is a generated column, which logins cannot write") }
        guard column.notNull == property.required else {
            let problem =
                column.notNull
                ? """
                is NOT NULL, and \(property.name) is not required: change the column, or: \
                federation patch applications/\(application.id)/properties/\(property.name) required=true
                """
                : """
                allows NULL, and \(property.name) is required: change the column, or: federation patch \
                applications/\(application.id)/properties/\(property.name) required=false
                """
            return self.problem(name, problem)
        }
        columns.append(Adoption.Column(property.name.text, is: name))
    }

    /// Declares a new property, and uses an existing column of the table for its values.
    private mutating func declare(_ text: String, as name: String) {
        guard let property = PropertyName(text) else {
            return problem(
                text,
                "is not a valid name of a property: 1 to 63 letters, digits and _, beginning with a letter"
            )
        }
        guard !property.isReserved else { return problem(text, "is reserved for the system") }
        guard !declared.contains(where: { $0.name == property }) else { return problem(text, "is repeated") }
        guard !application.dynamicNames.contains(property) else {
            return problem(text, "is the name of an undeclared property that clients have written: declare it first")
        }
        guard let column = ownColumn(name) else { return }
        guard let type = Self.types[column.type]?.first else {
            return problem(
                name,
                """
                is \(column.type), which is not a type of a property: use \
                \(Self.types.keys.sorted().joined(separator: ", ")). Change its type, or leave it out
                """
            )
        }
        guard !column.isGenerated else { return problem(name, "is a generated column, which logins cannot write") }
        declared.append(Property(name: property, type: type, required: column.notNull))
        columns.append(Adoption.Column(property.text, is: name))
    }

    /// Reports a key column that is not unique, a column that is to store two values, and a column that would prevent
    /// registrations.
    ///
    /// A column prevents registrations if it is NOT NULL, has no default, and is not written by a registration.
    private mutating func checkRest() {
        guard let key = table.column(request.key) else { return problem(request.key, "is not a column of the table") }
        if !key.isUnique || !key.notNull {
            problem(key.name, "is not a unique key: it must be NOT NULL and have a unique index of its own")
        }
        for (index, column) in columns.enumerated()
        where columns[..<index].contains(where: { $0.column.hasSameBytes(as: column.column) }) {
            problem(column.column, "is used twice, once as \(column.name)")
        }
        for column in table.columns where column.notNull && !column.hasDefault && !column.isGenerated {
            guard !columns.contains(where: { $0.column.hasSameBytes(as: column.name) }) else { continue }
            problem(
                column.name,
                """
                is NOT NULL without a default, so users could not register: give it a default, or use --property \
                NAME=\(column.name)
                """
            )
        }
    }

    private mutating func readIdentities() -> Adoption.Identities? {
        guard let identities = request.identities, let column = ownColumn(identities.column) else { return nil }
        if !["text", "character varying", "bigint", "numeric"].contains(column.type) {
            problem(column.name, "is \(column.type), but ids at a provider must be text, bigint or numeric")
        }
        let provider = application.providers.first { $0.key.text.hasSameBytes(as: identities.provider) }
        let apps = provider?.value.apps.map(\.id) ?? []
        let wanted = apps.first { app in identities.app.map { app.text.hasSameBytes(as: $0) } ?? (apps.count == 1) }
        guard let provider, let wanted else {
            let known = apps.isEmpty ? "it has none" : apps.map(\.text).joined(separator: ", ")
            problem(
                column.name,
                "has ids of one app only: name the app of \(identities.provider), one of \(known)"
            )
            return nil
        }
        return Adoption.Identities(provider: provider.key, app: wanted, column: column.name)
    }

    // MARK: Names and types

    /// The property types that each PostgreSQL column type allows.
    ///
    /// A new property gets the first type of the list.
    private static let types: [String: [PropertyType]] = [
        "text": [.string, .text], "character varying": [.string, .text],
        "bigint": [.int], "integer": [.int], "smallint": [.int],
        "double precision": [.double], "boolean": [.boolean], "date": [.date],
        "timestamp with time zone": [.dateTime], "jsonb": [.json],
    ]

    /// Returns whether the table had the column before the adoption began.
    private func isOwn(_ name: String) -> Bool { table.column(name).map { $0.addedAs == nil } ?? false }

    private mutating func ownColumn(_ name: String) -> ExistingTable.Column? {
        let column = table.column(name)
        if column == nil { problem(name, "is not a column of the table") }
        return column
    }

    /// Returns an unused name for a column that the adoption adds.
    ///
    /// If an interrupted adoption has already added the column, the result is the name of that column.
    private func freeName(for name: String) -> String {
        if let begun = table.columns.first(where: { $0.addedAs?.hasSameBytes(as: name) == true }) { return begun.name }
        return isOwn(name) ? "federation_" + name : name
    }
}
