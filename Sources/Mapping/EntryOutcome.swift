import Identity

/// What an entry comes to with one profile; the rules of `sync` come after it.
enum EntryOutcome: Sendable {
    case value(PropertyValue)
    /// The profile lacks the value, and the entry's default stands in for it.
    case fallback(PropertyValue)
    /// The profile lacks the value, and the property stays as it is.
    case missing([MissingField])
    /// The login fails.
    case refused(Failure)
}

extension EntryPlan {
    /// What a login makes of the entry; a preview shows the same.
    func outcome(for profile: JSONObject, grantedScopes: [String]?) -> EntryOutcome {
        switch value(from: profile) {
        case .value(let value): return .value(value)
        case .refused(let kind): return .refused(.notConvertible(self, kind))
        case .lacking:
            if let fallback { return .fallback(fallback) }
            let missing = lacks(in: profile, grantedScopes: grantedScopes).map { $0.missing(target.name) }
            return target.required ? .refused(.lacking(self, missing)) : .missing(missing)
        }
    }

    /// Why the entry has no value: one element for each field that is absent, or else the fields that say too little.
    func lacks(in profile: JSONObject, grantedScopes: [String]?) -> [LackingField] {
        let absent = fields.filter { profile.present($0.name) == nil }
        return (absent.isEmpty ? fields : absent).map { field in
            LackingField(
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

/// A field that an entry wanted and a profile lacked.
struct LackingField {
    let name: String
    /// Whether the profile has nothing of it; if not, what it has says too little.
    let isAbsent: Bool
    /// The permission that gives an absent field; nil when none is needed or none is known.
    let permission: String?
    /// Whether the token carries the permission; nil when unknown.
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

    fileprivate static func lacking(_ plan: EntryPlan, _ missing: [MissingField]) -> Failure {
        let property = plan.target.name
        if let field = missing.first(where: { $0.permission != nil }), let permission = field.permission {
            return Failure(
                .permissionMissing,
                """
                Property "\(property)" needs the permission "\(permission)" at \(plan.provider), which this login does not have. \
                Ask for it when logging in there, and log in again.
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
            Property "\(property)" needs the field "\(field)" of \(plan.provider), and this person's profile has none or only part of it. \
            It can be completed there.
            """,
            details: ["field": .string(field), "entry": plan.reference.json]
        )
    }
}
