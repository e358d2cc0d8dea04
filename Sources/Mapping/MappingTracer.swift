package import Domain
package import Encodings

/// Shows in a preview what each entry of the stored mapping and of the client's mapping would do in a login.
package struct MappingTracer: Sendable {
    /// The two mappings without their invalid entries.
    ///
    /// Its `fields` are the fields that a login would request from the provider.
    package let mapping: CompiledMapping
    /// The problems of the mappings for which a login would fail before it asks the provider; nil if there are none.
    package let problems: MappingProblems?
    private let steps: [MappingPlanner.Step]
    private let properties: [Property]

    /// Prepares two mappings as `CompiledMapping` does, but continues after problems.
    ///
    /// - Parameters:
    ///   - stored: The operator's mapping.
    ///   - client: The client's document.
    ///   - fields: The provider's fields.
    ///   - properties: The application's properties with the built-in ones.
    ///   - settings: The application's settings.
    ///   - dynamicNames: The undeclared properties of the application.
    package init(
        stored: Mapping?,
        client: JSONValue?,
        fields: ProfileFields,
        properties: [Property],
        settings: ApplicationSettings,
        dynamicNames: Set<PropertyName>
    ) {
        var planner = MappingPlanner(
            fields: fields,
            properties: properties,
            settings: settings,
            dynamicNames: dynamicNames
        )
        if let stored { planner.add(stored) }
        let document = client.map { MappingDocument($0, origin: .client) }
        planner.add(client: document?.entries.map { ($0.entry, position: $0.reference.position) } ?? [])
        // A login ignores the document if the settings allow no client mappings. Otherwise an invalid document makes it
        // fail.
        let unreadable = settings.clientMapping ? document?.problems ?? [] : []
        problems = MappingProblems(unreadable.isEmpty ? planner.problems : unreadable)
        mapping = CompiledMapping(planner)
        steps = planner.steps
        self.properties = properties
    }

    /// Returns what all entries would do in a login with the given profile.
    ///
    /// - Parameters:
    ///   - profile: The checked profile from the provider, or from a client in the same form.
    ///   - grantedScopes: The permissions of the token; nil when unknown.
    ///   - user: The user; nil when the login creates one.
    ///   - written: The values that the mapping last wrote to properties with the `sync` mode `untilEdited`, by the
    ///     names of the properties.
    ///   - kept: The properties that no mapping may change: a confirmed e-mail address; and for a user with a password,
    ///     the e-mail address and the login name.
    /// - Returns: The effect of each entry, and the failure of the login.
    package func trace(
        _ profile: AdmittedProfile,
        grantedScopes: [String]?,
        user: User?,
        written: JSONObject = JSONObject(),
        kept: Set<PropertyName> = []
    ) -> MappingTrace {
        var entries: [TracedEntry] = []
        var refusal = problems?.failure
        var missing: [MissingField] = []
        var filled: Set<PropertyName> = []
        for step in steps {
            switch step {
            case .skipped(let entry, let reference, let why):
                entries.append(untouched(entry, reference, .skipped, why, user: user))
            case .refused(let entry, let problem):
                guard let reference = problem.entry else { continue }
                entries.append(untouched(entry, reference, .refused, problem.message, user: user))
            case .plan(let plan):
                let outcome = plan.outcome(for: profile, grantedScopes: grantedScopes)
                switch outcome {
                case .value, .fallback: filled.insert(plan.target.name)
                case .missing(let fields), .cleared(let fields): missing += fields
                case .leftOut: break
                case .refused(let failure, _): refusal = refusal ?? failure
                }
                let last = written.present(plan.target.name.text)
                entries.append(
                    plan.traced(
                        outcome,
                        profile,
                        grantedScopes,
                        user: user,
                        lastWritten: last,
                        isKept: kept.contains(plan.target.name)
                    )
                )
            }
        }
        if refusal == nil, user == nil,
            let property = properties.first(where: { $0.required && !filled.contains($0.name) })
        {
            refusal = .unfilled(property)
        }
        return MappingTrace(
            entries: entries,
            refusal: refusal,
            missingPermissions: MissingField.permissions(of: missing)
        )
    }

    /// Returns the trace of an entry that every login skips or refuses, whatever the profile contains.
    private func untouched(
        _ entry: MappingEntry,
        _ reference: EntryReference,
        _ outcome: TracedEntry.Outcome,
        _ why: String,
        user: User?
    ) -> TracedEntry {
        let property = properties.first { $0.name == entry.to }
        return TracedEntry(
            origin: reference.origin,
            position: reference.position,
            from: entry.from.text,
            to: entry.to,
            type: entry.type ?? property?.type ?? .json,
            sync: entry.sync,
            outcome: outcome,
            value: nil,
            current: user?.value(of: entry.to),
            why: why,
            field: nil,
            permission: nil,
            leftOut: nil,
            warning: nil
        )
    }
}

extension User {
    /// Returns the value of a declared or undeclared property; nil when empty.
    func value(of name: PropertyName) -> PropertyValue? {
        if let property = properties.first(where: { $0.name == name }) { return property.value }
        return dynamic.present(name.text).map(PropertyValue.json)
    }
}

extension Failure {
    /// Returns the failure of a login that would create a user without a value for a required property.
    ///
    /// PostgreSQL would refuse to store such a user.
    fileprivate static func unfilled(_ property: Property) -> Failure {
        Failure(
            .constraintViolation,
            "The property \(property.name) must have a value.",
            details: ["property": .string(property.name.text)]
        )
    }
}
