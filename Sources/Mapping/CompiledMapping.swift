package import Domain
import Encodings

/// The operator's stored mapping and a client's mapping, prepared together for the properties of one application.
///
/// The preparation takes microseconds, and its result depends only on its arguments. So callers may cache a compiled
/// mapping as long as the arguments stay the same.
package struct CompiledMapping: Sendable {
    /// The properties that the mapping entries write, one for each entry that has an effect.
    ///
    /// The entries of the stored mapping come first, in their order, then those of the client's mapping.
    package let targets: [MappingTarget]
    /// The fields to request from the provider, separated by commas.
    ///
    /// These are `id`, then each top-level field once, in the order of first use.
    package let fields: String
    /// The undeclared properties that the client's mapping writes and that the application does not have yet.
    package let newDynamicNames: [PropertyName]
    private let plans: [EntryPlan]

    /// Checks two mappings and prepares their entries.
    ///
    /// - Parameters:
    ///   - stored: The operator's mapping, which may write every property.
    ///   - client: The client's mapping; ignored unless the settings allow one. It may write client-mappable properties
    ///     and, if the settings allow it, undeclared ones. If both mappings write a property, only the stored mapping's
    ///     entry has an effect.
    ///   - fields: The provider's fields.
    ///   - properties: The application's properties with the built-in ones.
    ///   - settings: The application's settings.
    ///   - dynamicNames: The undeclared properties that the application already has. It may have at most 100.
    /// - Throws: All problems at once, those of the stored mapping first.
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

    /// Creates the mapping from the valid entries of a planner; entries with problems are left out.
    init(_ planner: MappingPlanner) {
        plans = planner.plans
        newDynamicNames = planner.newDynamicNames
        targets = plans.map(\.target)
        var fields = ["id"]
        for field in plans.flatMap(\.fields) where !fields.contains(field.name) { fields.append(field.name) }
        self.fields = fields.joined(separator: ",")
    }

    /// Converts a profile to values of properties.
    ///
    /// - Parameters:
    ///   - profile: The checked profile from the provider, or from a client in the same form.
    ///   - grantedScopes: The permissions of the token; nil if they are unknown. An absent field that needs a
    ///     permission then counts as not permitted.
    /// - Returns: The values, the missing fields and the omissions.
    /// - Throws: `permission_missing`, `profile_incomplete` or `value_not_convertible`, for the first failing entry.
    ///   The failure names fields, properties and permissions, and never contains a value.
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

    /// Warnings about profile fields that the provider is not known to have, one for each mapping entry that reads such
    /// fields.
    package var warnings: [String] { plans.compactMap(\.doubt) }

    /// Returns the failure for a mapping that requests a field unknown to the provider.
    ///
    /// If an entry of the mapping reads the field, the failure names this entry.
    ///
    /// - Parameter field: The field's name in the provider's error. The failure repeats the name only if an entry reads
    ///   the field.
    /// - Returns: A `mapping_invalid`.
    package func failure(forUnknownField field: String) -> Failure {
        guard let plan = plan(askingFor: field) else {
            return Failure(.mappingInvalid, "The provider does not have a field that the mapping requests.")
        }
        let problem = MappingProblem(
            .mappingInvalid,
            plan.reference,
            """
            \(plan.provider) does not have this field of a user\(plan.hint(forUnknownField: field)); check its \
            spelling and the API version
            """
        )
        return Failure(.mappingInvalid, problem.message, details: ["entry": plan.reference.json])
    }

    /// Returns whether an entry of the mapping reads a field of the profile.
    package func asks(for field: String) -> Bool { plan(askingFor: field) != nil }

    private func plan(askingFor field: String) -> EntryPlan? {
        plans.first { $0.fields.contains { $0.name.hasSameBytes(as: field) } }
    }
}
