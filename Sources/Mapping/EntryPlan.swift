import Domain
import Encodings

/// A mapping entry, checked and prepared for logins, with the property that it writes and the fields that it reads.
///
/// It is computed once. Logins share it by reference.
final class EntryPlan: Sendable {
    let entry: MappingEntry
    let reference: EntryReference
    let target: MappingTarget
    /// The type to which a profile's values are converted first: the entry's own type, or else the property's.
    let type: PropertyType
    /// The default of the entry, converted to the property's type; nil if the entry has no default.
    let fallback: PropertyValue?
    private let clearing: Clearing
    /// The top-level fields of the profile that the entry reads, each once, with the permission that it needs.
    let fields: [RequestedField]
    /// The known fields of the provider's profiles.
    private let catalogue: ProfileFields

    /// Checks and prepares an entry.
    ///
    /// `place` is the column of its property, or the member for its property in the column for undeclared properties.
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
                "a required property cannot be cleared; remove \"whenMissing\""
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
        self.catalogue = catalogue
    }

    /// The display name of the provider.
    var provider: String { catalogue.provider }

    /// A warning about the fields that the entry reads; nil if all fields are known.
    ///
    /// The warning is a sentence that names the entry. It is computed on demand, since no login needs it.
    var doubt: String? {
        let doubts = entry.from.paths.compactMap(catalogue.doubt)
        guard !doubts.isEmpty else { return nil }
        return MappingProblem(.mappingInvalid, reference, in: .source, doubts.joined(separator: "; ")).message
    }

    /// Returns a hint for the end of a message about an unknown field: the known path that is most similar.
    func hint(forUnknownField field: String) -> String {
        entry.from.paths.first { $0.field.hasSameBytes(as: field) }.map(catalogue.hint) ?? ""
    }

    /// Returns the value that the entry reads from a profile; the entry's default is not used.
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

    /// Returns whether the entry clears its property if the profile lacks the value.
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
    /// The permission that the field requires at the provider; nil if it requires none or if none is known.
    let permission: String?

    static func list(of paths: [FieldPath], in catalogue: ProfileFields) -> [RequestedField] {
        var fields: [RequestedField] = []
        for path in paths where !fields.contains(where: { $0.name == path.field }) {
            fields.append(RequestedField(name: path.field, permission: catalogue.permission(of: path.field)))
        }
        return fields
    }
}

/// The result of a mapping entry for one profile.
///
/// Later, the entry's `sync` mode decides whether the value is written.
enum EntryOutcome: Sendable {
    case value(PropertyValue)
    /// The property gets the entry's default.
    ///
    /// Either the profile lacks the value, or the value was left out. Only in the second case is there an omission.
    case fallback(PropertyValue, Omission?)
    /// The profile lacks the value, and the property stays unchanged.
    case missing([MissingField])
    /// The profile lacks the value, and the property is cleared.
    case cleared([MissingField])
    /// The profile's value does not fit, and the property stays unchanged.
    case leftOut(Omission)
    /// The login fails.
    ///
    /// The omission is nil unless the reason is a value that was left out.
    case refused(Failure, Omission?)
}

extension EntryPlan {
    /// Returns the outcome of the entry for a profile, for a login or for the preview of one.
    ///
    /// If the check of the profile left out a value that the entry reads, the entry gets no value at all: half of a
    /// template or of a list is not the user's value.
    func outcome(for profile: AdmittedProfile, grantedScopes: [String]?) -> EntryOutcome {
        if let (field, reason) = entry.from.paths.lazy.compactMap(profile.omission).first {
            return outcome(without: field, reason)
        }
        switch value(from: profile.fields) {
        case .value(let value):
            return target.misfit(of: value).map { outcome(without: entry.from.text, $0) } ?? .value(value)
        case .refused(let kind): return .refused(.notConvertible(self, kind), nil)
        case .lacking:
            if let fallback { return .fallback(fallback, nil) }
            let missing = absentFields(in: profile.fields, grantedScopes: grantedScopes).map { $0.missing(target.name) }
            if target.required { return .refused(.lacking(self, missing), nil) }
            return clears(in: profile.fields) ? .cleared(missing) : .missing(missing)
        }
    }

    /// Returns the outcome of the entry if the check of the profile left out a value that the entry reads.
    ///
    /// The property is not cleared, since the user does have a value at the provider.
    private func outcome(without field: String, _ reason: Omission.Reason) -> EntryOutcome {
        let omission = Omission(property: target.name, field: field, reason: reason)
        if let fallback { return .fallback(fallback, omission) }
        return target.required ? .refused(.leftOut(self, omission), omission) : .leftOut(omission)
    }

    /// Returns the fields that explain why the entry has no value.
    ///
    /// These are the fields of the entry that the profile lacks. If it lacks none, they are all fields of the entry.
    func absentFields(in profile: JSONObject, grantedScopes: [String]?) -> [AbsentField] {
        let absent = fields.filter { profile.present($0.name) == nil }
        return (absent.isEmpty ? fields : absent).map { field in
            AbsentField(
                name: field.name,
                isAbsent: !absent.isEmpty,
                permission: absent.isEmpty ? nil : field.permission,
                isGranted: field.permission.flatMap { permission in
                    grantedScopes.map { $0.contains { $0.hasSameBytes(as: permission) } }
                }
            )
        }
    }
}

/// A field that an entry needs and a profile lacks.
struct AbsentField {
    let name: String
    /// Whether the profile does not contain the field at all; false if the field is present but its value is
    /// insufficient.
    let isAbsent: Bool
    /// The permission that an absent field requires; nil if it requires none or if none is known.
    let permission: String?
    /// Whether the token has the permission; nil when unknown.
    let isGranted: Bool?

    func missing(_ property: PropertyName) -> MissingField {
        MissingField(property: property, field: name, permission: isGranted == true ? nil : permission)
    }
}

extension Failure {
    fileprivate static func notConvertible(_ plan: EntryPlan, _ kind: String) -> Failure {
        let problem = MappingProblem(
            .valueNotConvertible,
            plan.reference,
            "the profile holds \(kind) there that does not fit \(plan.type.rawValue)"
        )
        return Failure(problem.reason, problem.message, details: ["entry": plan.reference.json])
    }

    fileprivate static func leftOut(_ plan: EntryPlan, _ omission: Omission) -> Failure {
        Failure(
            .profileIncomplete,
            """
            Property "\(plan.target.name)" needs the field "\(omission.field)" of \(plan.provider), and the value in \
            this user's profile is not usable, because \(omission.reason.words). The user can correct it there.
            """,
            details: [
                "field": .string(omission.field), "leftOut": .string(omission.reason.rawValue),
                "entry": plan.reference.json,
            ],
            cause: "left out: \(omission.text)"
        )
    }

    fileprivate static func lacking(_ plan: EntryPlan, _ missing: [MissingField]) -> Failure {
        let property = plan.target.name
        if let field = missing.first(where: { $0.permission != nil }), let permission = field.permission {
            return Failure(
                .permissionMissing,
                """
                Property "\(property)" needs the permission "\(permission)" at \(plan.provider), which this login does \
                not have. Request it at the login, and log in again.
                """,
                details: [
                    "permission": .string(permission), "field": .string(field.field), "entry": plan.reference.json,
                ]
            )
        }
        let field = missing.first?.field ?? plan.entry.from.text
        return Failure(
            .profileIncomplete,
            """
            Property "\(property)" needs the field "\(field)" of \(plan.provider), which is missing or incomplete in \
            this user's profile. The user can complete it there.
            """,
            details: ["field": .string(field), "entry": plan.reference.json]
        )
    }
}
