package import Encodings

/// Describes a member of a configurable object, and names the property of the Swift type that stores its value.
package struct Field<Owner: Sendable>: Sendable {
    package let name: String
    /// The name that the member had in documents before version 0.1.0; nil if it was not renamed.
    fileprivate let formerName: String?
    /// Whether every document must contain the member, which then has no default.
    fileprivate let isRequired: Bool
    fileprivate let describe: @Sendable (Owner) -> FieldDescription
    fileprivate let read: @Sendable (JSONValue, JSONPointer, inout DocumentProblems, inout Owner) -> Void
    fileprivate let write: @Sendable (Owner) -> JSONValue
    fileprivate let warnings: @Sendable (Owner) -> [String]

    /// Creates a field.
    ///
    /// - Parameters:
    ///   - name: The name in documents.
    ///   - formerName: The name in documents before version 0.1.0. The error for a document with the former name states
    ///     the current one.
    ///   - path: The property of the Swift type that stores the value.
    ///   - codec: The codec of the value.
    ///   - title: The displayed name.
    ///   - meaning: What the value means, in whole sentences.
    ///   - isRequired: Whether every document must have the member. A required member has no default.
    ///   - warnings: Returns warnings for operators about a value that weakens security without need.
    package init<Value: Sendable>(
        _ name: String,
        formerly formerName: String? = nil,
        _ path: any WritableKeyPath<Owner, Value> & Sendable,
        _ codec: Codec<Value>,
        _ title: String,
        _ meaning: String,
        isRequired: Bool = false,
        warnings: @escaping @Sendable (Value) -> [String] = { _ in [] }
    ) {
        (self.name, self.formerName, self.isRequired) = (name, formerName, isRequired)
        describe = { owner in
            FieldDescription(
                name: name,
                title: title,
                meaning: meaning,
                shape: codec.shape,
                defaultValue: isRequired ? nil : codec.write(owner[keyPath: path])
            )
        }
        read = { value, place, problems, owner in
            if let value = codec.read(value, place, &problems) { owner[keyPath: path] = value }
        }
        write = { codec.write($0[keyPath: path]) }
        self.warnings = { codec.warnings($0[keyPath: path]) + warnings($0[keyPath: path]) }
    }
}

/// Describes a configurable object: its members, and the rules that involve several members.
package struct ObjectDescription<Owner: Sendable>: Sendable {
    /// A group of fields that the console and the documentation show together.
    package struct Section: Sendable {
        let id: String
        let title: String
        let fields: [Field<Owner>]

        package init(_ id: String, _ title: String, _ fields: [Field<Owner>]) {
            (self.id, self.title, self.fields) = (id, title, fields)
        }
    }

    package let shape: ObjectShape
    private let fields: [Field<Owner>]
    private let defaultValue: Owner
    private let unknown: String
    private let finish: @Sendable (inout Owner, JSONObject) -> Void
    private let check: @Sendable (Owner, JSONPointer, inout DocumentProblems) -> Void

    /// Creates a description of a configurable object.
    ///
    /// - Parameters:
    ///   - defaultValue: The object with all defaults.
    ///   - unknown: The message about an unknown member, such as `is not a setting`.
    ///   - sections: The members, in the order in which they are written and shown.
    ///   - rules: The rules that involve several members, as elements of JSON Schema's `allOf`.
    ///   - finish: Sets values that depend on which members the document has.
    ///   - check: Adds problems for values that are valid by themselves but not together.
    package init(
        _ defaultValue: Owner,
        unknown: String,
        sections: [Section],
        rules: [JSONValue] = [],
        finish: @escaping @Sendable (inout Owner, JSONObject) -> Void = { _, _ in },
        check: @escaping @Sendable (Owner, JSONPointer, inout DocumentProblems) -> Void = { _, _, _ in }
    ) {
        (self.defaultValue, self.unknown, self.finish, self.check) = (defaultValue, unknown, finish, check)
        fields = sections.flatMap(\.fields)
        shape = ObjectShape(
            sections: sections.map { section in
                ObjectShape.Section(
                    id: section.id,
                    title: section.title,
                    fields: section.fields.map { $0.describe(defaultValue) }
                )
            },
            rules: rules
        )
    }

    /// Creates a description of an object whose fields are not grouped in sections.
    package init(
        _ defaultValue: Owner,
        unknown: String,
        _ fields: [Field<Owner>],
        rules: [JSONValue] = [],
        check: @escaping @Sendable (Owner, JSONPointer, inout DocumentProblems) -> Void = { _, _, _ in }
    ) {
        self.init(defaultValue, unknown: unknown, sections: [Section("", "", fields)], rules: rules, check: check)
    }

    /// Reads the members of a stored object, and passes over unknown ones.
    ///
    /// - Throws: `DocumentProblems` with every problem, by its position in the object.
    package func read(stored document: JSONValue) throws(DocumentProblems) -> Owner {
        let place = JSONPointer()
        guard let object = document.object else { throw DocumentProblems(place, "must be an object") }
        var problems = DocumentProblems()
        let owner = read(membersOf: object, at: place, problems: &problems)
        guard problems.isEmpty else { throw problems }
        return owner
    }

    /// Reads a configurable object from JSON.
    ///
    /// An absent or invalid member keeps the value that it has in `base`.
    ///
    /// - Parameters:
    ///   - value: The JSON value.
    ///   - place: The position of the JSON value in the document.
    ///   - base: The object with the values of absent members; nil for the defaults.
    ///   - problems: Receives all problems, including those of unknown members.
    /// - Returns: The object with all members that could be read.
    package func read(
        _ value: JSONValue,
        at place: JSONPointer,
        onto base: Owner? = nil,
        problems: inout DocumentProblems
    ) -> Owner {
        guard let object = value.object else {
            problems.add(place, "must be an object")
            return base ?? defaultValue
        }
        let owner = read(membersOf: object, at: place, onto: base, problems: &problems)
        for member in object.members where !shape.names.contains(where: { $0.hasSameBytes(as: member.key) }) {
            let renamed = fields.first { $0.formerName == member.key }
            problems.add(unknown: member.key, at: place / member.key, among: shape.names, unknown, now: renamed?.name)
        }
        return owner
    }

    /// Reads the described members of a JSON object, and ignores all others.
    package func read(
        membersOf object: JSONObject,
        at place: JSONPointer,
        onto base: Owner? = nil,
        problems: inout DocumentProblems
    ) -> Owner {
        var owner = base ?? defaultValue
        for field in fields {
            guard let value = object[field.name] ?? (field.isRequired ? .null : nil) else { continue }
            field.read(value, place / field.name, &problems, &owner)
        }
        finish(&owner, object)
        check(owner, place, &problems)
        return owner
    }

    /// Returns the object as JSON, with all its described members.
    package func document(of owner: Owner) -> JSONValue {
        .object(JSONObject(fields.map { JSONObject.Member($0.name, $0.write(owner)) }))
    }

    /// Returns as JSON those members whose values differ from their defaults.
    ///
    /// Required members are always included.
    package func deviations(of owner: Owner) -> JSONObject {
        JSONObject(
            zip(fields, shape.fields).compactMap { field, described in
                let value = field.write(owner)
                return value == described.defaultValue ? nil : JSONObject.Member(field.name, value)
            }
        )
    }

    /// Returns warnings for operators about values that weaken security without need.
    package func warnings(of owner: Owner) -> [String] { fields.flatMap { $0.warnings(owner) } }
}
