import Vocabulary

/// One entry together with the property it writes: all that a login needs of it, worked out once and held, not copied, by each.
final class EntryPlan: Sendable {
    let entry: MappingEntry
    let reference: EntryReference
    let target: MappingTarget
    /// What values are converted to first; the property's type unless the entry has its own.
    let type: PropertyType
    /// The default in the form of the property.
    let fallback: PropertyValue?
    private let clearing: Clearing
    /// The top-level fields that the entry reads, each once, with the permission it needs.
    let fields: [RequestedField]
    /// The provider's name for people.
    let provider: String

    /// Plans an entry for a place in the users table.
    init(
        _ entry: MappingEntry,
        _ reference: EntryReference,
        into place: MappingTarget.Place,
        from catalogue: ProfileFields
    ) throws(MappingProblem) {
        let clearing = Clearing(entry, required: place.isRequired)
        let target = MappingTarget(
            place: place,
            sync: entry.sync,
            required: entry.required,
            mayBeCleared: clearing != .never
        )
        let type = entry.type ?? target.type
        let reference = EntryReference(
            origin: reference.origin,
            position: reference.position,
            isListed: reference.isListed,
            from: entry.from.text,
            to: entry.to.text,
            type: type
        )
        guard Conversion.column(target.type, holds: type) else {
            throw MappingProblem(
                .mappingInvalid,
                reference,
                in: entry.type == nil ? .target : .type,
                "a property of type \(target.type.rawValue) cannot hold values of type \(type.rawValue)"
            )
        }
        guard !target.mayBeCleared || !place.isRequired else {
            throw MappingProblem(
                .mappingInvalid,
                reference,
                in: .whenMissing,
                "a required property cannot be cleared; leave \"whenMissing\" away"
            )
        }
        fallback = try entry.default.map { (json) throws(MappingProblem) in
            guard case .value(let value) = Self.property(json, as: type, in: target.type) else {
                throw MappingProblem(
                    .valueNotConvertible,
                    reference,
                    in: .fallback,
                    "the default is \(json.kind) that does not fit \(type.rawValue)"
                )
            }
            return value
        }
        self.entry = entry
        self.clearing = clearing
        self.reference = reference
        self.target = target
        self.type = type
        fields = RequestedField.list(of: entry.from.paths, in: catalogue)
        provider = catalogue.provider
    }

    /// What the entry makes of a profile, without its default.
    func value(from profile: JSONObject) -> Outcome<PropertyValue> {
        var json: JSONValue
        switch entry.from {
        case .path(let path):
            guard let found = path.value(in: profile) else { return .lacking }
            json = found
        case .template(let template):
            switch template.render(profile) {
            case .value(let text): json = text
            case .lacking: return .lacking
            case .refused(let kind): return .refused(kind)
            }
        }
        for transform in entry.transforms {
            switch transform.apply(to: json) {
            case .value(let changed): json = changed
            case .lacking: return .lacking
            case .refused(let kind): return .refused(kind)
            }
        }
        return Self.property(json, as: type, in: target.type)
    }

    /// Whether a value that lacks empties the property.
    func clears(in profile: JSONObject) -> Bool {
        switch (clearing, entry.from) {
        case (.always, _): true
        case (.insideObject, .path(let path)): path.isInsideObject(of: profile)
        case (.insideObject, .template), (.never, _): false
        }
    }

    private static func property(
        _ json: JSONValue,
        as type: PropertyType,
        in column: PropertyType
    ) -> Outcome<PropertyValue> {
        switch Conversion.convert(json, to: type) {
        case .value(let value): type == column ? .value(value) : Conversion.store(value, in: column)
        case .lacking: .lacking
        case .refused(let kind): .refused(kind)
        }
    }
}

/// A top-level field of the profile that an entry reads.
struct RequestedField: Sendable, Equatable {
    let name: String
    /// The permission at the provider that gives it; nil when none is needed or none is known.
    let permission: String?

    static func list(of paths: [FieldPath], in catalogue: ProfileFields) -> [RequestedField] {
        var fields: [RequestedField] = []
        for path in paths where !fields.contains(where: { $0.name == path.field }) {
            fields.append(RequestedField(name: path.field, permission: catalogue.permission(of: path.field)))
        }
        return fields
    }
}
