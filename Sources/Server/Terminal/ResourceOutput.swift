import Administration
import AdministrationAPI
import Description
import Encodings
import HTTPTypes

extension OutputOptions {
    /// Prints what a call of the administration API returned.
    ///
    /// A newly generated secret is printed alone. A secret that the operator set is not printed.
    func show(_ answer: AdministrationRoute.Outcome, _ path: ResourcePath, giving document: JSONValue? = nil) throws {
        switch answer {
        case .resource(let resource):
            let schema = path.route.answer ?? .any
            let secret = schema.resolved.properties.first { $0.schema.isOnce }?.name
            guard !json, let secret, let text = resource.body.object?[secret]?.string else {
                return try show(resource, schema.sections, moments: schema.moments)
            }
            guard document?.object?.present(secret) == nil else { return try Terminal.report("\(path.text) is set.") }
            try Terminal.printOnce(text, "This is the \(secret) of \(path.text).")
        case .page(let page): try show(page, path.route.item.map(Column.columns) ?? [])
        case .done: try Terminal.report("\(path.text) is set.")
        }
    }

    /// Prints a resource as the schema of the given path describes it.
    ///
    /// The schema determines the columns of tables, and which members are times.
    func show(_ resource: Resource, like template: String) throws {
        let schema = Schema.answer(at: template)
        try show(resource, schema.sections, moments: schema.moments)
    }
}

extension Column {
    static func columns(ofList template: String) -> [Column] {
        Schema.answer(at: template).resolved["items"].elements.first.map(columns) ?? []
    }

    /// Returns the columns of the table that shows a list of objects.
    ///
    /// They are the members that are plain values or lists of plain values, and the members of small inner objects.
    /// Some kinds of objects have a fixed selection of columns (`shown`).
    static func columns(of schema: Schema) -> [Column] {
        if let names = schema.definition.flatMap({ shown[$0.name] }) {
            let members = schema.members
            return names.compactMap { name in
                members.first { $0.name == name }.map { Column(title($0.name), [$0.name], $0) }
            }
        }
        return schema.members.flatMap { member -> [Column] in
            let inner = member.schema.members
            guard !inner.isEmpty else {
                return member.schema.isColumn ? [Column(title(member.name), [member.name], member)] : []
            }
            guard inner.count <= 4 else { return [] }
            return inner.filter { $0.schema.isColumn }.map { part in
                let part = Schema.Property(part.name, part.schema, isRequired: false)
                return Column(title(member.name) + " " + title(part.name), [member.name, part.name], part)
            }
        }
    }

    /// The members that a table shows, for kinds of objects with more members than fit on a line.
    private static let shown = [
        "User": ["objectId", "name", "email", "userStatus", "created", "lastLogin"],
        "AuditEntry": ["happened", "actor", "source", "application", "action", "target", "from", "to"],
    ]

    private init(_ title: String, _ path: [String], _ member: Schema.Property) {
        self.init(title, member.columnKind) { row in
            path.dropFirst().reduce(row[path[0]]) { $0?.object?[$1] }
        }
    }

    /// Returns the title of a column, such as `OBJECT ID` for `objectId`.
    private static func title(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1.isUppercase && !$0.isEmpty ? " \($1)" : $1.uppercased() }
    }
}

extension Schema {
    /// Returns the schema of the response to a GET of the given path.
    fileprivate static func answer(at template: String) -> Schema {
        AdministrationRoute.resources.first { $0.method == .get && $0.template == template }?.answer ?? .any
    }

    /// The schema that describes the value if the value is not `null`.
    ///
    /// A reference is replaced by the schema to which it refers.
    fileprivate var present: Schema {
        let schema = resolved
        return schema.alternatives.first { !$0.resolved.isNothing }?.present ?? schema
    }

    private var isNothing: Bool { kind == nil && alternatives.isEmpty && properties.isEmpty && definition == nil }

    /// The members of the object that the schema describes, collected from all alternatives of the schema.
    fileprivate var members: [Property] {
        let schema = resolved
        guard !schema.alternatives.isEmpty else { return schema.properties.filter { !$0.schema.isConstant } }
        return schema.alternatives.flatMap(\.members).reduce(into: []) { members, member in
            if !members.contains(where: { $0.name == member.name }) { members.append(member) }
        }
    }

    private var isConstant: Bool { rules.contains { $0.key == "const" } }

    /// Whether the schema describes a secret, which the service shows only once.
    fileprivate var isOnce: Bool { isSecret || resolved.isSecret }

    fileprivate var isColumn: Bool {
        let schema = present
        return schema.kind != .object && schema.elements.first?.members.isEmpty != false
    }

    /// The members that are lists of objects, each with the columns of its table.
    var sections: [OutputOptions.Section] {
        members.compactMap { member in
            let elements = member.schema.present.elements.first
            guard let elements, !elements.members.isEmpty else { return nil }
            return OutputOptions.Section(member: member.name, columns: Column.columns(of: elements))
        }
    }

    /// The names of the members that are times; a member of an inner object has the name `object.member`.
    var moments: [String] {
        members.flatMap { member in
            let inner = member.schema.members.filter(\.schema.present.isMoment).map { "\(member.name).\($0.name)" }
            return inner + (member.schema.present.isMoment ? [member.name] : [])
        }
    }
}

extension Schema.Property {
    fileprivate var columnKind: Column.Kind {
        if schema.present.isMoment { return .moment }
        let schema = schema.present
        let isText =
            schema.kind == nil || schema.kind == .array
            || schema.kind == .string && schema.values.isEmpty
                && !schema.rules.contains { ["format", "pattern"].contains($0.key) }
        guard isRequired else { return .rare }
        return isText && name != "id" ? .text : .id
    }
}
