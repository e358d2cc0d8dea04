import Store
package import Vocabulary

/// A property as an operator declares or changes it, read from a document of its own.
struct PropertyDeclaration {
    let property: Property

    /// The members of a declaration besides name and type.
    static let rules = ["required", "clientMappable", "visibleTo", "indexed"]

    /// Reads the members of a declaration; the property that it replaces is nil when it makes one.
    ///
    /// - Throws: Every problem, those that the reader has noted before included.
    init(
        _ object: JSONObject,
        replacing old: Property?,
        reader: inout DocumentReader
    ) throws(DocumentProblems) {
        let document = JSONPointer()
        let name = reader.required(
            object["name"]?.string.flatMap { PropertyName($0) },
            at: document / "name",
            "must be 1 to 63 ASCII letters, digits or _, beginning with a letter"
        )
        if let name, name.isReserved { reader.problems.add(document / "name", "is reserved for the system") }
        let type = reader.word(PropertyType.self, object["type"], at: document / "type", isRequired: true)
        if let old, old.name.isBuiltIn {
            if let name, name != old.name {
                reader.problems.add(document / "name", "cannot be changed: it always exists")
            }
            if let type, type != old.type {
                reader.problems.add(document / "type", "cannot be changed: it always exists")
            }
        }
        let isRequired = reader.bool(object["required"], at: document / "required")
        let clientMappable = reader.bool(object["clientMappable"], at: document / "clientMappable")
        let visibleTo = reader.word(Visibility.self, object["visibleTo"], at: document / "visibleTo")
        let indexed = reader.bool(object["indexed"], at: document / "indexed")
        guard reader.problems.isEmpty, let name, let type else { throw reader.problems }
        property = Property(
            name: name,
            type: type,
            required: isRequired ?? false,
            clientMappable: clientMappable ?? false,
            visibleTo: visibleTo ?? .owner,
            indexed: indexed ?? false
        )
    }
}

extension Property {
    /// As operators see it.
    package var document: JSONObject {
        JSONObject(
            [.init("name", .string(name.text)), .init("type", .string(type.rawValue))] + rules.members
                + [.init("indexed", .bool(indexed)), .init("builtIn", .bool(name.isBuiltIn))]
        )
    }
}
