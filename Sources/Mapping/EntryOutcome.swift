import Vocabulary

/// What an entry comes to with one profile; the rules of `sync` come after it.
enum EntryOutcome: Sendable {
    case value(PropertyValue)
    /// The entry's default stands in for a value that the profile lacks, or that is left out.
    case fallback(PropertyValue, Omission?)
    /// The profile lacks the value, and the property stays as it is.
    case missing([MissingField])
    /// The profile lacks the value, and the property is emptied.
    case cleared([MissingField])
    /// What the profile has does not fit, and the property stays as it is.
    case leftOut(Omission)
    /// The login fails, perhaps for want of what is left out.
    case refused(Failure, Omission?)
}

extension EntryPlan {
    /// What a login makes of the entry; a preview shows the same.
    ///
    /// An entry that reads something that does not fit gets nothing: half of a template or of a list is not what the person has.
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
            let missing = lacks(in: profile.fields, grantedScopes: grantedScopes).map { $0.missing(target.name) }
            if target.required { return .refused(.lacking(self, missing), nil) }
            return clears(in: profile.fields) ? .cleared(missing) : .missing(missing)
        }
    }

    /// What is left out is no word on the property, so nothing is emptied for it.
    private func outcome(without field: String, _ reason: Omission.Reason) -> EntryOutcome {
        let omission = Omission(property: target.name, field: field, reason: reason)
        if let fallback { return .fallback(fallback, omission) }
        return target.required ? .refused(.leftOut(self, omission), omission) : .leftOut(omission)
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

    fileprivate static func leftOut(_ plan: EntryPlan, _ omission: Omission) -> Failure {
        Failure(
            .profileIncomplete,
            """
            Property "\(plan.target.name)" needs the field "\(omission.field)" of \(plan.provider), and what this person's profile has \
            there is not taken, since \(omission.reason.words). It can be mended there.
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
