import Vocabulary
import Store

/// The steps about properties.
///
/// A mapping writes only what is there: properties are made before it is set and go behind it.
enum PropertySteps {
    static func stepsBeforeMapping(from stored: StoredApplication?, to desired: DesiredApplication) -> [PlannedChange] {
        var steps = desired.renamed.map { rename in
            PlannedChange(
                .renameProperty(from: rename.from, to: rename.to),
                action: "property.rename",
                target: rename.from.text,
                from: .string(rename.from.text),
                to: .string(rename.to.text)
            )
        }
        for property in desired.properties {
            if let old = desired.formerly(property.name, in: stored) {
                steps += changes(from: old, to: property)
            } else {
                steps.append(step(.declareProperty(property), "property.declare", property, to: property.declaration))
            }
        }
        return steps
    }

    static func stepsBehindMapping(from stored: StoredApplication?, to desired: DesiredApplication) -> [PlannedChange] {
        let stored = stored?.properties ?? []
        let removed = stored.filter { old in
            !desired.properties.contains { $0.name == desired.nameNow(of: old.name) }
        }
        let steps = removed.map { step(.removeProperty($0.name), "property.remove", $0, from: $0.declaration) }
        // What is declared comes behind the others.
        let kept = stored.map { desired.nameNow(of: $0.name) }.filter { name in
            desired.properties.contains { $0.name == name }
        }
        let declared = desired.properties.map(\.name).filter { !kept.contains($0) }
        let before = (kept + declared).filter { !$0.isBuiltIn }
        let after = desired.properties.map(\.name).filter { !$0.isBuiltIn }
        guard before != after else { return steps }
        return steps + [
            PlannedChange(
                .orderProperties(desired.properties.map(\.name)),
                action: "property.order",
                target: nil,
                from: .array(before.map { .string($0.text) }),
                to: .array(after.map { .string($0.text) })
            )
        ]
    }

    private static func changes(from old: Property, to new: Property) -> [PlannedChange] {
        var steps: [PlannedChange] = []
        if old.type != new.type {
            let change = ConfigurationChange.widenProperty(new.name, to: new.type)
            let (from, to) = (JSONValue.string(old.type.rawValue), JSONValue.string(new.type.rawValue))
            steps.append(step(change, "property.widen", new, from: from, to: to))
        }
        if old.required != new.required || old.clientMappable != new.clientMappable {
            let change = ConfigurationChange.changeProperty(
                new.name,
                required: new.required,
                clientMappable: new.clientMappable
            )
            steps.append(step(change, "property.change", new, from: old.rules, to: new.rules))
        }
        return steps
    }

    private static func step(
        _ change: ConfigurationChange,
        _ action: String,
        _ property: Property,
        from: JSONValue? = nil,
        to: JSONValue? = nil
    ) -> PlannedChange {
        PlannedChange(change, action: action, target: property.name.text, from: from, to: to)
    }
}

extension DesiredApplication {
    /// What a stored property is called from here on.
    func nameNow(of stored: PropertyName) -> PropertyName {
        renamed.reduce(stored) { name, rename in name == rename.from ? rename.to : name }
    }

    /// The stored property that has this name from here on; built-in ones exist before anything is stored.
    func formerly(_ name: PropertyName, in stored: StoredApplication?) -> Property? {
        (stored?.properties ?? Property.builtIn).first { nameNow(of: $0.name) == name }
    }
}

extension Property {
    /// As documents declare it.
    var declaration: JSONValue {
        .object([
            "type": .string(type.rawValue), "required": .bool(required), "clientMappable": .bool(clientMappable),
        ])
    }

    fileprivate var rules: JSONValue {
        .object(["required": .bool(required), "clientMappable": .bool(clientMappable)])
    }
}

extension PropertyName {
    /// Whether every application has the property.
    var isBuiltIn: Bool { self == .email || self == .name }
}
