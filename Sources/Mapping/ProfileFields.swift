package import Vocabulary

/// The fields of a person at a provider: which permission gives each, what JSON it is, and somebody as an example.
///
/// A field that is not listed may still exist there: this catalogue's silence refuses nothing, and warns.
package struct ProfileFields: Sendable {
    package typealias Field = (permission: String?, shape: FieldShape)

    /// The provider's name for people.
    let provider: String
    /// Somebody made up who has every field that is listed.
    package let sample: JSONObject
    /// Names of other systems, such as claims of an ID token, and the fields that hold the same.
    private let synonyms: [String: String]
    /// Whether the provider refuses every login that asks for a field that it does not have.
    private let refusesUnknownFields: Bool
    /// In the order in which people look for them.
    private let order: [String]
    /// Looked up by names of our own grammar only, at most 128 ASCII bytes.
    private let fields: [String: Field]

    package init(
        of provider: String,
        _ fields: KeyValuePairs<String, Field>,
        sample: JSONObject = JSONObject(),
        synonyms: [String: String] = [:],
        refusesUnknownFields: Bool = false
    ) {
        self.provider = provider
        self.sample = sample
        self.synonyms = synonyms
        self.refusesUnknownFields = refusesUnknownFields
        order = fields.map(\.key)
        self.fields = Dictionary(uniqueKeysWithValues: fields.map { ($0.key, $0.value) })
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

    /// What is doubtful about a path, as a part of a sentence; nil when the catalogue has it, or has nothing at all.
    func doubt(about path: FieldPath) -> String? {
        guard !fields.isEmpty, shape(of: path) != nil else { return nil }
        guard let field = fields[path.field] else {
            let consequence =
                refusesUnknownFields
                ? "every login is refused if \(provider) does not have it" : "the property stays as it is without it"
            return "\(path.field) is no known field of \(provider)\(hint(for: path)): \(consequence)"
        }
        var (shape, place) = (field.shape, path.field)
        for name in path.inner {
            guard shape.knownMembers?.contains(where: { $0.hasSameBytes(as: name) }) ?? true else {
                return "nothing is known to be called \(name) in \(place) of \(provider)\(hint(for: path))"
            }
            shape = shape.member(name) ?? .unknown
            place += ".\(name)"
        }
        return nil
    }

    /// The nearest known path, for the end of a message about a path that is not known; empty when none is near.
    func hint(for path: FieldPath) -> String {
        guard let field = fields[path.field] == nil ? nearest(path.field) : path.field else { return "" }
        var (names, shape) = ([field], self.shape(of: field))
        for name in path.inner {
            guard let members = shape.knownMembers else { break }
            let same = members.first { $0.hasSameBytes(as: name) }
            guard let known = same ?? NearestName.of(name, among: members) else { break }
            names.append(known)
            shape = shape.member(known) ?? .unknown
        }
        let known = names.joined(separator: ".")
        return known.hasSameBytes(as: path.text) ? "" : " (did you mean \(known)?)"
    }

    private func nearest(_ field: String) -> String? { synonyms[field] ?? NearestName.of(field, among: order) }

    /// Every path of the catalogue that leads to something that is no object, and what the sample has there:
    /// `{"path": "picture.data.url", "permission": text|null, "holds": "an address of the web", "sample": …}`.
    package var catalogue: [JSONValue] {
        order.flatMap { field -> [JSONValue] in
            guard let (permission, shape) = fields[field] else { return [] }
            return shape.leaves(at: field, sample[field]).map { leaf in
                .object([
                    "path": .string(leaf.path), "permission": permission.map(JSONValue.string) ?? .null,
                    "holds": .string(leaf.shape.words), "sample": leaf.sample ?? .null,
                ])
            }
        }
    }
}

extension FieldShape {
    /// What is no object, with its path and what an example has there; a step into a list is one into its elements.
    fileprivate func leaves(
        at path: String,
        _ sample: JSONValue?
    ) -> [(path: String, shape: FieldShape, sample: JSONValue?)] {
        switch self {
        case .object(let members):
            members.sorted { $0.key < $1.key }.flatMap {
                $0.value.leaves(at: "\(path).\($0.key)", sample?.object?[$0.key])
            }
        case .list(let element): element.leaves(at: path, sample?.array?.first)
        default: [(path, self, sample)]
        }
    }
}
