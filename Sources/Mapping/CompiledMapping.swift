package import Vocabulary

/// A stored and a client's mapping together, against the properties of one application: the plan of a login.
///
/// Making one costs microseconds and depends on nothing but its arguments, so it may be kept as long as they stay the
/// same.
package struct CompiledMapping: Sendable {
    /// Where values go: entries of the stored mapping in their order, then those of the client that it leaves.
    package let targets: [MappingTarget]
    /// Graph's `fields` parameter: `id` in front, then each top-level field once, in the order of first use.
    package let graphFields: String
    /// Undeclared properties that the client's mapping brings in and `dynamicNames` did not hold.
    package let newDynamicNames: [PropertyName]
    private let plans: [EntryPlan]

    /// Plans two mappings.
    ///
    /// - Parameters:
    ///   - stored: The operator's mapping; may write every property.
    ///   - client: The client's mapping; ignored unless the settings allow one. It may write client-mappable properties
    ///     and, where the settings allow it, undeclared ones. Where both write a property, the stored entry counts.
    ///   - fields: What the provider knows of a person.
    ///   - properties: The application's properties with the built-in ones.
    ///   - settings: What the operator allows.
    ///   - dynamicNames: Undeclared properties that the application already has; 100 are allowed in all.
    /// - Throws: Every problem at once, those of the stored mapping first.
    package init(
        stored: Mapping?,
        client: Mapping?,
        fields: ProfileFields,
        properties: [Property],
        settings: ApplicationSettings,
        dynamicNames: Set<PropertyName> = []
    ) throws(MappingProblems) {
        var planner = MappingPlanner(
            fields: fields,
            properties: properties,
            settings: settings,
            dynamicNames: dynamicNames
        )
        if let stored { planner.add(stored) }
        if let client { planner.add(client: client) }
        if let problems = MappingProblems(planner.problems) { throw problems }
        self.init(planner)
    }

    /// The plans of a planner, whatever is wrong with other entries.
    init(_ planner: MappingPlanner) {
        plans = planner.plans
        newDynamicNames = planner.newDynamicNames
        targets = plans.map(\.target)
        var fields = ["id"]
        for field in plans.flatMap(\.fields) where !fields.contains(field.name) { fields.append(field.name) }
        graphFields = fields.joined(separator: ",")
    }

    /// Turns a profile into values of properties.
    ///
    /// - Parameters:
    ///   - profile: What the provider tells of the person, or claims in its shape, as far as it fits.
    ///   - grantedScopes: The permissions that the token carries; nil when unknown, and then a field that needs one and
    ///     is absent counts as not permitted.
    /// - Returns: The values, what lacked and what is left out.
    /// - Throws: `permission_missing`, `profile_incomplete` or `value_not_convertible`, with the first entry at fault.
    ///   The failure names fields, properties and permissions and never holds a value.
    package func apply(to profile: AdmittedProfile, grantedScopes: [String]?) throws(Failure) -> MappedProfile {
        var values: [PropertyValue?] = []
        values.reserveCapacity(plans.count)
        var cleared: [PropertyName] = []
        var missing: [MissingField] = []
        var omissions: [Omission] = []
        for plan in plans {
            switch plan.outcome(for: profile, grantedScopes: grantedScopes) {
            case .value(let value): values.append(value)
            case .fallback(let value, let omission):
                values.append(value)
                if let omission { omissions.append(omission) }
            case .leftOut(let omission):
                values.append(nil)
                omissions.append(omission)
            case .missing(let lacking):
                values.append(nil)
                missing.append(contentsOf: lacking)
            case .cleared(let lacking):
                values.append(nil)
                cleared.append(plan.target.name)
                missing.append(contentsOf: lacking)
            case .refused(let failure, _): throw failure
            }
        }
        return MappedProfile(values: values, cleared: cleared, missing: missing, omissions: omissions)
    }

    /// What is doubtful about the fields that entries read, a sentence for each entry.
    package var warnings: [String] { plans.compactMap(\.doubt) }

    /// The failure for a field that the provider does not know, with the entry that asked for it.
    ///
    /// - Parameter field: The name in the provider's error; it is not repeated unless an entry asked for it.
    /// - Returns: A `mapping_invalid`.
    package func failure(forUnknownField field: String) -> Failure {
        guard let plan = plan(askingFor: field) else {
            return Failure(.mappingInvalid, "The provider does not know a field that the mapping asks for.")
        }
        let problem = MappingProblem(
            .mappingInvalid,
            plan.reference,
            """
            \(plan.provider) does not know this field of a person\(plan.hint(forUnknownField: field)); check its spelling and the \
            version of its API
            """
        )
        return Failure(.mappingInvalid, problem.message, details: ["entry": plan.reference.json])
    }

    /// Whether an entry asks the provider for a field.
    package func asks(for field: String) -> Bool { plan(askingFor: field) != nil }

    private func plan(askingFor field: String) -> EntryPlan? {
        plans.first { $0.fields.contains { $0.name.hasSameBytes(as: field) } }
    }
}
