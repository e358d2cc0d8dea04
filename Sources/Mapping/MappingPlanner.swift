import Description
import Domain

/// Prepares the entries of an application's mappings and collects their problems.
struct MappingPlanner {
    /// The result for one mapping entry: it is prepared, has no effect, or is invalid.
    enum Step: Sendable {
        case plan(EntryPlan)
        /// A client's entry that has no effect, with the reason as a sentence.
        case skipped(MappingEntry, EntryReference, why: String)
        case refused(MappingEntry, MappingProblem)
    }

    let fields: ProfileFields
    let properties: [Property]
    let settings: ApplicationSettings
    let dynamicNames: Set<PropertyName>
    /// The results for the mapping entries, in the order of the entries.
    private(set) var steps: [Step] = []
    private(set) var newDynamicNames: [PropertyName] = []

    init(
        fields: ProfileFields,
        properties: [Property],
        settings: ApplicationSettings,
        dynamicNames: Set<PropertyName>
    ) {
        self.fields = fields
        self.properties = properties
        self.settings = settings
        self.dynamicNames = dynamicNames
    }

    var plans: [EntryPlan] {
        steps.compactMap { step in
            guard case .plan(let plan) = step else { return nil }
            return plan
        }
    }

    var problems: [MappingProblem] {
        steps.compactMap { step in
            guard case .refused(_, let problem) = step else { return nil }
            return problem
        }
    }

    mutating func add(_ stored: Mapping) {
        for (position, entry) in stored.entries.enumerated() {
            let reference = EntryReference(entry, origin: .stored, position: position)
            do throws(MappingProblem) {
                steps.append(.plan(try EntryPlan(stored: entry, reference, from: fields, properties: properties)))
            } catch {
                steps.append(.refused(entry, error))
            }
        }
    }

    mutating func add(client: Mapping) {
        add(client: client.entries.enumerated().map { ($0.element, position: $0.offset) })
    }

    /// Adds the entries of a client's mapping, each with its position in the client's document.
    mutating func add(client entries: [(entry: MappingEntry, position: Int)]) {
        let stored = Set(plans.map(\.target.name))
        for (entry, position) in entries {
            let reference = EntryReference(entry, origin: .client, position: position)
            guard settings.clientMapping else {
                steps.append(.skipped(entry, reference, why: "This application ignores the mappings of clients."))
                continue
            }
            do throws(MappingProblem) {
                let place = try place(ofClientTarget: entry.to, reference)
                // The checks above apply even if the stored mapping writes the property.
                if stored.contains(entry.to) {
                    let why = "The stored mapping writes this property and takes precedence."
                    steps.append(.skipped(entry, reference, why: why))
                } else {
                    steps.append(.plan(try EntryPlan(entry, reference, into: place, from: fields)))
                }
            } catch {
                steps.append(.refused(entry, error))
            }
        }
    }

    private mutating func place(
        ofClientTarget name: PropertyName,
        _ reference: EntryReference
    ) throws(MappingProblem) -> MappingTarget.Place {
        func notAllowed(_ text: String) -> MappingProblem {
            MappingProblem(.mappingTargetNotAllowed, reference, in: .target, text)
        }
        if let property = properties.first(where: { $0.name == name }) {
            guard property.clientMappable else {
                throw notAllowed(
                    "client mappings cannot write this property; an operator can declare it clientMappable"
                )
            }
            return .column(property)
        }
        guard settings.dynamicProperties else {
            throw notAllowed("the application does not have this property; an operator can declare it")
        }
        if !dynamicNames.contains(name) {
            guard dynamicNames.count + newDynamicNames.count < MappingLimits.dynamicNames else {
                throw notAllowed("the application already has \(MappingLimits.dynamicNames) undeclared properties")
            }
            newDynamicNames.append(name)
        }
        return .dynamic(name)
    }
}

extension EntryReference {
    fileprivate init(_ entry: MappingEntry, origin: MappingOrigin, position: Int) {
        self.init(
            origin: origin,
            position: position,
            isListed: origin == .stored,
            from: entry.from.text,
            to: entry.to.text,
            type: entry.type
        )
    }
}

extension EntryPlan {
    /// Prepares an entry of the operator's stored mapping, which may write every declared property.
    convenience init(
        stored entry: MappingEntry,
        _ reference: EntryReference,
        from fields: ProfileFields,
        properties: [Property]
    ) throws(MappingProblem) {
        guard let property = properties.first(where: { $0.name == entry.to }) else {
            throw MappingProblem(
                .mappingTargetNotAllowed,
                reference,
                in: .target,
                """
                the application does not have this \
                property\(NearestName.hint(for: entry.to.text, among: properties.map(\.name.text))); declare it under \
                "properties"
                """
            )
        }
        try self.init(entry, reference, into: .column(property), from: fields)
    }
}
