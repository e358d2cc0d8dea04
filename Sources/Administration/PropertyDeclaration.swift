import Applications
import Description
package import Domain
package import Encodings
import Store

extension Property {
    /// Reads the declaration of a property from a request.
    ///
    /// - Parameters:
    ///   - object: The members of the declaration.
    ///   - old: The property that the declaration replaces; nil for a new property.
    ///   - reader: The reader of the request, which collects problems.
    /// - Throws: All problems, including those of the reader.
    init(
        declaration object: JSONObject,
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
        if let old, old.name.isBuiltIn, let name, name != old.name {
            reader.problems.add(document / "name", "cannot be changed: it always exists")
        }
        let base = name.map { Property(name: $0, type: .json) }
        let property = Self.description.read(membersOf: object, at: document, onto: base, problems: &reader.problems)
        if let old, old.name.isBuiltIn, PropertyType(rawValue: object["type"]?.string ?? "") != nil,
            property.type != old.type
        {
            reader.problems.add(document / "type", "cannot be changed: it always exists")
        }
        guard reader.problems.isEmpty else { throw reader.problems }
        self = property
    }

    /// The property as a JSON object, for responses to operators.
    package var document: JSONObject {
        JSONObject(
            [.init("name", .string(name.text))] + (Self.description.document(of: self).object?.members ?? [])
                + [.init("builtIn", .bool(name.isBuiltIn))]
        )
    }
}
