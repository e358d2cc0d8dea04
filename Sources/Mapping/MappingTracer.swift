package import Vocabulary

/// Two mappings as a login would plan them, together with what is wrong with them: what a preview works with.
package struct MappingTracer: Sendable {
    /// What of the mappings can be used; `graphFields` is what to ask the provider for.
    package let mapping: CompiledMapping
    /// What keeps a login from using the mappings: it fails before the provider is asked.
    package let problems: MappingProblems?
    private let steps: [MappingPlanner.Step]
    private let properties: [Property]

    /// Plans two mappings as `CompiledMapping` does; nothing that is wrong with them ends it.
    ///
    /// - Parameters:
    ///   - stored: The operator's mapping.
    ///   - client: The client's document.
    ///   - fields: What the provider knows of a person.
    ///   - properties: The application's properties with the built-in ones.
    ///   - settings: What the operator allows.
    ///   - dynamicNames: Undeclared properties that the application already has.
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
        // A login does not look at the document where clients' mappings are ignored, and stops at one that breaks its
        // rules.
        let unreadable = settings.clientMapping ? document?.problems ?? [] : []
        problems = MappingProblems(unreadable.isEmpty ? planner.problems : unreadable)
        mapping = CompiledMapping(planner)
        steps = planner.steps
        self.properties = properties
    }

    /// Follows every entry through a login.
    ///
    /// - Parameters:
    ///   - profile: What the provider tells of the person, or claims in its shape, as far as it fits.
    ///   - grantedScopes: The permissions that the token carries; nil when unknown.
    ///   - user: Who logs in; nil when the login creates the user.
    ///   - written: What the mapping recorded as written last into properties with `untilEdited`.
    ///   - kept: The properties that are the user's own to change, whatever the mapping says.
    /// - Returns: What becomes of each entry, and why the login would fail.
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

    /// An entry that never gets to see the profile.
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
    /// What the user has of a declared or an undeclared property; nil when empty.
    func value(of name: PropertyName) -> PropertyValue? {
        if let property = properties.first(where: { $0.name == name }) { return property.value }
        return dynamic.present(name.text).map(PropertyValue.json)
    }
}

extension Failure {
    /// What PostgreSQL says to a user without a value that is NOT NULL.
    fileprivate static func unfilled(_ property: Property) -> Failure {
        Failure(
            .constraintViolation,
            "The property \(property.name) must have a value.",
            details: ["property": .string(property.name.text)]
        )
    }
}
