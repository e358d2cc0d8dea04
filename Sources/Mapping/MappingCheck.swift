package import Domain
package import Encodings

/// Checks a mapping of an operator before the service saves it.
package enum MappingCheck {
    /// Returns all problems of a stored mapping that can be found before a login.
    ///
    /// - Parameters:
    ///   - document: The mapping in the dictionary form or the list form.
    ///   - fields: The provider's fields.
    ///   - properties: The application's properties with the built-in ones.
    ///   - columns: The columns that the users table has in the database; empty if the table does not exist yet.
    /// - Returns: First the problems of the entries, in the order of the entries. Then a problem for each property or
    ///   column that must have a value and that no entry fills.
    package static func problems(
        of document: JSONValue,
        fields: ProfileFields,
        properties: [Property],
        columns: [LiveColumn]
    ) -> [MappingProblem] {
        let document = MappingDocument(document, origin: .stored)
        var problems = document.problems
        for (entry, reference) in document.entries {
            do throws(MappingProblem) {
                let plan = try EntryPlan(stored: entry, reference, from: fields, properties: properties)
                try checkShape(plan, by: fields)
                try checkClearing(plan, columns)
            } catch {
                problems.append(error)
            }
        }
        // The document's problems were found before those of the plans. Sorting puts all into the order of the entries.
        problems.sort { ($0.position ?? -1) < ($1.position ?? -1) }
        let filled = document.targets
        return problems + unfilled(filled, properties, columns)
    }

    /// Returns a warning for each path of a valid mapping that is not among the provider's known paths.
    ///
    /// - Parameters:
    ///   - document: The mapping in the dictionary form or the list form.
    ///   - fields: The provider's known fields.
    /// - Returns: The warnings, in the order of the entries.
    package static func warnings(of document: JSONValue, fields: ProfileFields) -> [MappingProblem] {
        MappingDocument(document, origin: .stored).entries.flatMap { entry, reference in
            entry.from.paths.compactMap(fields.doubt).map {
                MappingProblem(.mappingInvalid, reference, in: .source, $0)
            }
        }
    }

    /// Returns the names of the top-level fields that a mapping's valid entries read.
    ///
    /// Each name appears once. The names are separated by commas.
    package static func fields(of document: JSONValue) -> String {
        let names = MappingDocument(document, origin: .stored).entries.flatMap { $0.entry.from.paths.map(\.field) }
        return names.enumerated().filter { !names[..<$0.offset].contains($0.element) }.map(\.element)
            .joined(separator: ",")
    }

    /// Returns a problem for each path of the mapping whose field the provider reports as unknown.
    package static func problems(
        of document: JSONValue,
        unknown: [String],
        fields: ProfileFields
    ) -> [MappingProblem] {
        MappingDocument(document, origin: .stored).entries.flatMap { entry, reference in
            entry.from.paths.filter { path in unknown.contains { $0.hasSameBytes(as: path.field) } }.map { path in
                let what = "\(fields.provider) has no field \(path.field)\(fields.hint(for: path))"
                return MappingProblem(.mappingInvalid, reference, in: .source, "\(what): every login is refused")
            }
        }
    }

    private static func checkShape(_ plan: EntryPlan, by fields: ProfileFields) throws(MappingProblem) {
        func invalid(_ text: String, in place: JSONPointer = .source) -> MappingProblem {
            MappingProblem(.mappingInvalid, plan.reference, in: place, text)
        }
        var shape: FieldShape
        switch plan.entry.from {
        case .path(let path):
            guard let found = fields.shape(of: path) else {
                throw invalid("this field of \(fields.provider) is a plain value and has no inner fields")
            }
            shape = found
        case .template(let template):
            for path in template.paths {
                switch fields.shape(of: path) {
                case nil: throw invalid("a field of the template is a plain value and has no inner fields")
                case .list, .object: throw invalid("a template is made of plain values, not of lists and objects")
                default: continue
                }
            }
            shape = .text
        }
        for transform in plan.entry.transforms {
            guard let changed = shape.after(transform) else {
                throw invalid("a transform cannot work on \(shape.words)", in: .transform)
            }
            shape = changed
        }
        guard shape.fits(plan.type) else {
            throw invalid(
                "\(shape.words) does not fit \(plan.type.rawValue)",
                in: plan.entry.type == nil ? .target : .type
            )
        }
    }

    private static func checkClearing(_ plan: EntryPlan, _ columns: [LiveColumn]) throws(MappingProblem) {
        guard plan.target.mayBeCleared,
            columns.contains(where: { $0.notNull && $0.name.hasSameBytes(as: plan.target.name.text) })
        else { return }
        throw MappingProblem(
            .mappingInvalid,
            plan.reference,
            in: plan.entry.whenMissing == nil ? .target : .whenMissing,
            "the column of this property is NOT NULL, and the entry may empty it; write it with \"whenMissing\": \"keep\""
        )
    }

    private static func unfilled(
        _ filled: Set<PropertyName>,
        _ properties: [Property],
        _ columns: [LiveColumn]
    ) -> [MappingProblem] {
        let required = properties.filter { $0.required && !filled.contains($0.name) }
        let requiredProblems = required.map { property in
            MappingProblem(.mappingInvalid, .stored, "property \"\(property.name)\" is required, and no entry fills it")
        }
        let columnProblems = columns.compactMap { column -> MappingProblem? in
            guard column.notNull, !column.hasDefault else { return nil }
            let name = PropertyName(column.name)
            if let name, name.isReserved || filled.contains(name) || required.contains(where: { $0.name == name }) {
                return nil
            }
            let subject = name.map { "column \"\($0)\" of the users table" } ?? "a column of the users table"
            return MappingProblem(
                .mappingInvalid,
                .stored,
                "\(subject) is NOT NULL without a default, and no entry fills it"
            )
        }
        return requiredProblems + columnProblems
    }
}
