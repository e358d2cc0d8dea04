import Identity

/// Collects the plans and the problems of the mappings of one application.
struct MappingPlanner {
    let properties: [Property]
    let settings: ApplicationSettings
    let dynamicNames: Set<PropertyName>
    private(set) var plans: [EntryPlan] = []
    private(set) var problems: [MappingProblem] = []
    private(set) var newDynamicNames: [PropertyName] = []

    init(properties: [Property], settings: ApplicationSettings, dynamicNames: Set<PropertyName>) {
        self.properties = properties
        self.settings = settings
        self.dynamicNames = dynamicNames
    }

    mutating func add(_ stored: Mapping) {
        for (position, entry) in stored.entries.enumerated() {
            let reference = EntryReference(entry, origin: .stored, position: position)
            do throws(MappingProblem) {
                plans.append(try EntryPlan(stored: entry, reference, properties: properties))
            } catch {
                problems.append(error)
            }
        }
    }

    mutating func add(client: Mapping) {
        let stored = Set(plans.map(\.target.name))
        for (position, entry) in client.entries.enumerated() {
            let reference = EntryReference(entry, origin: .client, position: position)
            do throws(MappingProblem) {
                let place = try place(ofClientTarget: entry.to, reference)
                // The entry had to be allowed even where the stored mapping already writes the property.
                guard !stored.contains(entry.to) else { continue }
                plans.append(try EntryPlan(entry, reference, into: place))
            } catch {
                problems.append(error)
            }
        }
    }

    private mutating func place(
        ofClientTarget name: PropertyName,
        _ reference: EntryReference
    ) throws(MappingProblem) -> MappingTarget.Place {
        func notAllowed(_ text: String) -> MappingProblem { MappingProblem(.mappingTargetNotAllowed, reference, text) }
        if let property = properties.first(where: { $0.name == name }) {
            guard property.clientMappable else {
                throw notAllowed(
                    "the property is not open to clients' mappings; an operator can declare it clientMappable"
                )
            }
            return .column(property)
        }
        guard settings.dynamicProperties else {
            throw notAllowed("the application has no such property; an operator can declare it")
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
        self.init(origin: origin, position: position, from: entry.from.text, to: entry.to.text, type: entry.type)
    }
}

extension EntryPlan {
    /// Plans an entry of a stored mapping, which may write every declared property.
    init(stored entry: MappingEntry, _ reference: EntryReference, properties: [Property]) throws(MappingProblem) {
        guard let property = properties.first(where: { $0.name == entry.to }) else {
            throw MappingProblem(
                .mappingTargetNotAllowed,
                reference,
                "the application has no such property; declare it under \"properties\""
            )
        }
        try self.init(entry, reference, into: .column(property))
    }
}
