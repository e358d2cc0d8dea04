/// The fields of a person at a provider: which permission gives each, and what JSON it is.
///
/// A field that is not listed may still exist there: nothing is refused because of this catalogue's silence.
package struct ProfileFields: Sendable {
    package typealias Field = (permission: String?, shape: FieldShape)

    /// The provider's name for people.
    let provider: String
    /// Looked up by names of our own grammar only, at most 128 ASCII bytes.
    private let fields: [String: Field]

    package init(of provider: String, _ fields: [String: Field]) {
        self.provider = provider
        self.fields = fields
    }

    /// Of a provider of which nothing is known.
    package static let none = ProfileFields(of: "the provider", [:])

    /// The names that are listed.
    package var names: Set<String> { Set(fields.keys) }

    /// The permission that gives a top-level field; nil when it needs none or is not listed.
    package func permission(of field: String) -> String? { fields[field]?.permission }

    /// What JSON a top-level field is.
    func shape(of field: String) -> FieldShape { fields[field]?.shape ?? .unknown }

    /// What JSON stands at a path; `unknown` where the catalogue says nothing, nil where nothing can be: inside a text
    /// or number.
    func shape(of path: FieldPath) -> FieldShape? {
        var shape = shape(of: path.field)
        for name in path.inner {
            guard let inner = shape.member(name) else { return nil }
            shape = inner
        }
        return shape
    }
}
