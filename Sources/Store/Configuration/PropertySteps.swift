import Domain
import Encodings
import Postgres

extension Store {
    /// The maximum number of declared properties of an application.
    ///
    /// A table of PostgreSQL can have 1600 columns, including dropped ones.
    package static let propertiesAllowed = 500
}

extension ChangeTransaction {
    mutating func declare(_ property: Property, in users: UsersTable) async throws {
        try refuseReserved(property.name)
        try await register(property)
        let shown = try await users.column(property.name, on: tables)
        var column = shown
        if column == nil { column = try await users.unshownColumn(property.name, on: tables) }
        if let column { try column.check(for: property) }

        let values = DynamicValues(of: property, in: users)
        var movesValues = false
        if dynamicNames.contains(property.name) {
            try await forgetDynamicName(property.name)
            movesValues = try await exists(values.some, for: property.name, orElse: DynamicValues.advice)
        }
        if users.adopted != nil, shown == nil {
            try await adoptColumn(of: property, in: users, isThere: column != nil)
        } else if column == nil {
            let type = property.type.sqlType
            try await alter(users, "add column \(quoted(property.name.text)) \(type)", for: property.name)
        }
        if movesValues {
            try await exclusively(values.move, for: property.name, orElse: DynamicValues.advice)
            if try await exists(values.some, for: property.name, orElse: DynamicValues.advice) {
                throw values.misfit
            }
        }
        if property.required != column?.notNull ?? false {
            let column = column?.name ?? property.name.text
            try await alter(users, column, of: property.name, required: property.required)
        }
        declared.insert(property.name)
    }

    mutating func renameProperty(from: PropertyName, to: PropertyName, in users: UsersTable) async throws {
        try refuseBuiltIn(from)
        try refuseReserved(to)
        guard !dynamicNames.contains(to) else {
            throw Failure(
                .conflict,
                "Clients have written values with the name \(to). Declare it instead, or choose another name.",
                details: ["property": .string(to.text)]
            )
        }
        try await expectOne(
            """
            update federation.properties set name = \(to.text)
            where application_id = \(application.text) and name = \(from.text)
            """,
            "declared property \(from)"
        )
        let written = WrittenValues(of: from, in: users)
        let isTracked = try await exists(written.some, for: from, orElse: WrittenValues.advice)
        if users.adopted != nil {
            try await renameAdoptedColumn(from: from, to: to, in: users)
        } else if try await !isRenamed(from, to, in: users) {
            try await alter(users, "rename column \(quoted(from.text)) to \(quoted(to.text))", for: from)
        }
        if isTracked { try await exclusively(written.move(to: to), for: from, orElse: WrittenValues.advice) }
    }

    /// Returns whether an earlier, interrupted attempt at this change has already renamed the column.
    ///
    /// If the users are in a database of their own, that database commits before the main one. The earlier attempt may
    /// have ended between the two commits.
    private func isRenamed(_ from: PropertyName, _ to: PropertyName, in users: UsersTable) async throws -> Bool {
        guard users.place.database != nil, try await users.column(from, on: tables) == nil else { return false }
        return try await users.column(to, on: tables) != nil
    }

    /// Changes the property's permissions, and whether it is required.
    ///
    /// This turns a built-in property into a declared one.
    mutating func changeProperty(_ property: Property, in users: UsersTable) async throws {
        let (name, required) = (property.name, property.required)
        let changed = try await connection.query(
            """
            update federation.properties set required = \(required), client_mappable = \(property.clientMappable),
                visible_to = \(property.visibleTo.rawValue)
            where application_id = \(application.text) and name = \(name.text)
            """
        )
        if changed.affectedRows == 0 {
            _ = try builtIn(name)
            try await register(property)
        }
        guard let column = try await users.column(name, on: tables) else { throw Self.columnMissing(name) }
        if required != column.notNull {
            let mustBeValidated = required && !isNew && !declared.contains(name)
            guard !mustBeValidated || column.isValidated == true else {
                throw Requirement(users: users, column: column.number, property: name)
            }
            try await alter(users, column.name, of: name, required: required)
        }
        if column.isValidated != nil {
            try await alter(users, "drop constraint \(Requirement.constraint(of: column.number))", for: name)
        }
    }

    /// Sets whether the property's column has an index.
    ///
    /// This turns a built-in property into a declared one.
    func indexProperty(_ name: PropertyName, _ indexed: Bool) async throws {
        let changed = try await connection.query(
            """
            update federation.properties set indexed = \(indexed), index_problem = null
            where application_id = \(application.text) and name = \(name.text)
            """
        )
        guard changed.affectedRows == 0 else { return }
        let builtIn = try builtIn(name)
        try await register(
            Property(
                name: name,
                type: builtIn.type,
                required: builtIn.required,
                clientMappable: builtIn.clientMappable,
                indexed: indexed
            )
        )
    }

    mutating func removeProperty(_ name: PropertyName, in users: UsersTable) async throws {
        try refuseBuiltIn(name)
        try await expectOne(
            "delete from federation.properties where application_id = \(application.text) and name = \(name.text)",
            "declared property \(name)"
        )
        let written = WrittenValues(of: name, in: users)
        let isTracked = try await exists(written.some, for: name, orElse: WrittenValues.adviceOnRemoval)
        if users.adopted != nil {
            try await releaseAdoptedColumn(of: name, in: users)
        } else {
            try await alter(users, "drop column if exists \(quoted(name.text)) restrict", for: name)
        }
        if isTracked { try await exclusively(written.remove, for: name, orElse: WrittenValues.adviceOnRemoval) }
    }

    /// Reorders the properties.
    ///
    /// Those that are not named follow in their former order.
    func orderProperties(_ names: [PropertyName]) async throws {
        let texts = names.map(\.text)
        _ = try await connection.query(
            """
            update federation.properties p set position = ordered.position
            from (
                select name, row_number() over (order by array_position(\(texts), name), position, name) as position
                from federation.properties where application_id = \(application.text)
            ) ordered
            where p.application_id = \(application.text) and p.name = ordered.name
            """
        )
    }

    // MARK: What the steps share

    /// Stores the declaration of a property, at the end of the application's list of properties.
    ///
    /// The caller adds the property's column.
    private func register(_ property: Property) async throws {
        let added = try await connection.query(
            """
            insert into federation.properties
                (application_id, name, position, type, required, client_mappable, visible_to, indexed)
            select \(application.text), \(property.name.text), coalesce(max(position), -1) + 1, \(property.type.rawValue),
                \(property.required), \(property.clientMappable), \(property.visibleTo.rawValue), \(property.indexed)
            from federation.properties where application_id = \(application.text)
            having count(*) < \(Store.propertiesAllowed)
            """
        )
        guard added.affectedRows == 1 else {
            throw Failure(.conflict, "An application can declare at most \(Store.propertiesAllowed) properties.")
        }
    }

    /// Returns a property that exists before any declaration.
    private func builtIn(_ name: PropertyName) throws(Failure) -> Property {
        guard let builtIn = Property.builtIn.first(where: { $0.name == name }) else {
            throw Failure(.internal, "The change does not fit the application: \(name) is not declared.")
        }
        return builtIn
    }

    private func forgetDynamicName(_ name: PropertyName) async throws {
        _ = try await connection.query(
            """
            delete from federation.dynamic_properties
            where application_id = \(application.text) and name = \(name.text)
            """
        )
    }

    /// Alters the users table or, if one was adopted, the adopted table.
    mutating func alter(
        _ users: UsersTable,
        _ action: String,
        for property: PropertyName,
        orElse advice: String = "Try again at a quiet hour."
    ) async throws {
        try await exclusively("alter table \(users.table) \(action)", for: property, orElse: advice)
    }

    private mutating func alter(
        _ users: UsersTable,
        _ column: String,
        of property: PropertyName,
        required: Bool
    ) async throws {
        try await alter(
            users,
            "alter column \(quoted(column)) \(required ? "set" : "drop") not null",
            for: property,
            orElse: "Declare it as not required first, and require it in a second change."
        )
    }

    private func refuseReserved(_ name: PropertyName) throws(Failure) {
        guard name.isReserved else { return }
        throw Failure(
            .conflict,
            "The name \(name) belongs to the system. Choose another one.",
            details: ["property": .string(name.text)]
        )
    }

    func refuseBuiltIn(_ name: PropertyName) throws(Failure) {
        guard Property.builtIn.contains(where: { $0.name == name }) else { return }
        throw Failure(
            .conflict,
            "\(name) is built in: it cannot be renamed, removed or change its type.",
            details: ["property": .string(name.text)]
        )
    }

    static func columnMissing(_ name: PropertyName) -> Failure {
        Failure(
            .conflict,
            "The users table has no column \(name), but the property is declared. Add the column again by hand.",
            details: ["property": .string(name.text)]
        )
    }
}
