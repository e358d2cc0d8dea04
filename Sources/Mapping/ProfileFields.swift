import Description
package import Encodings

/// The known fields of a provider's profiles, with the permission and the JSON shape of each, and a sample profile.
///
/// A provider may have fields that are not listed. If a mapping entry reads such a field, the service warns the
/// operator but accepts the entry.
package struct ProfileFields: Sendable {
    package typealias Field = (permission: String?, shape: FieldShape)

    /// The display name of the provider.
    let provider: String
    /// An invented profile that has all listed fields.
    package let sample: JSONObject
    /// The names that other systems use for fields, such as the claims of an ID token.
    ///
    /// The value for each of these names is the name of the provider's field.
    private let synonyms: [String: String]
    /// Whether the provider refuses a request for a field that it does not have, so that the login fails.
    private let refusesUnknownFields: Bool
    /// The names of the fields, in the order in which they are shown.
    private let order: [String]
    /// The fields by name.
    ///
    /// A mapping path can contain each of these names (`FieldPath`).
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

    /// Returns a catalogue that also has the members of a sample profile, with the shapes of their values.
    ///
    /// - Parameters:
    ///   - more: The sample.
    ///   - provider: The display name of the provider.
    /// - Returns: The catalogue.
    package func adding(sample more: JSONObject, of provider: String) -> ProfileFields {
        let news = more.members.filter { fields[$0.key] == nil }
        return ProfileFields(
            provider: provider,
            sample: JSONObject(sample.members + news),
            synonyms: synonyms,
            refusesUnknownFields: refusesUnknownFields,
            order: order + news.map(\.key),
            fields: fields.merging(news.map { ($0.key, (nil, FieldShape(ofSample: $0.value, named: $0.key))) }) {
                known,
                _ in known
            }
        )
    }

    private init(
        provider: String,
        sample: JSONObject,
        synonyms: [String: String],
        refusesUnknownFields: Bool,
        order: [String],
        fields: [String: Field]
    ) {
        self.provider = provider
        self.sample = sample
        self.synonyms = synonyms
        self.refusesUnknownFields = refusesUnknownFields
        self.order = order
        self.fields = fields
    }

    /// The catalogue of an unknown provider.
    ///
    /// It has no fields and gives no warnings.
    package static let none = ProfileFields(of: "the provider", [:])

    /// The names of the listed fields.
    package var names: Set<String> { Set(fields.keys) }

    /// Returns the permission for a top-level field; nil when it needs none or is unlisted.
    package func permission(of field: String) -> String? { fields[field]?.permission }

    /// Returns the JSON shape of a top-level field.
    func shape(of field: String) -> FieldShape { fields[field]?.shape ?? .unknown }

    /// Returns the JSON shape of the value at a path.
    ///
    /// The shape is `unknown` if the catalogue does not list the path. The result is nil if the path leads into a value
    /// without members, such as a text.
    func shape(of path: FieldPath) -> FieldShape? {
        var shape = shape(of: path.field)
        for name in path.inner {
            guard let inner = shape.member(name) else { return nil }
            shape = inner
        }
        return shape
    }

    /// Returns a warning about an unknown path, without a full stop; nil if the path is known.
    ///
    /// The result is also nil if the catalogue lists no fields at all.
    func doubt(about path: FieldPath) -> String? {
        guard !fields.isEmpty, shape(of: path) != nil else { return nil }
        guard let field = fields[path.field] else {
            let consequence =
                refusesUnknownFields
                ? "every login is refused if \(provider) does not have it" : "without it the property is unchanged"
            return "\(path.field) is not a known field of \(provider)\(hint(for: path)): \(consequence)"
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

    /// Returns a hint for the end of a message about an unknown path: the known path that is most similar.
    ///
    /// The hint is empty if no known path is similar.
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

    /// The paths of all listed values except objects, each with its permission, its kind of value and a sample value.
    ///
    /// An element is `{"path": "picture.data.url", "permission": text|null, "holds": "an address of the web", "sample":
    /// …}`.
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
    /// Returns the paths of all values in this shape that are not objects, with their shapes and sample values.
    ///
    /// The path of a list continues in the elements of the list.
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
