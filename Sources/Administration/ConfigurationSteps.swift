import Applications
import Domain
package import Encodings
import Mapping
import Providers
import Store

/// The steps that create, rename or move an application, or change its settings.
enum ApplicationSteps {
    static func steps(from stored: StoredApplication?, to desired: DesiredApplication) -> [PlannedChange] {
        let settings = SettingsDocument.document(of: desired.settings)
        guard let stored else {
            let create = ConfigurationChange.create(
                name: desired.name,
                schema: desired.schema,
                database: desired.database,
                settings: settings
            )
            var to: JSONObject = [
                "name": .string(desired.name), "schema": .string(desired.schema), "settings": settings,
            ]
            if let database = desired.database { to.append("database", database.json) }
            let step = PlannedChange(create, action: "application.create", target: nil, from: nil, to: .object(to))
            return [step] + variables(from: nil, to: desired)
        }
        var steps: [PlannedChange] = []
        if !stored.name.hasSameBytes(as: desired.name) {
            steps.append(
                PlannedChange(
                    .rename(desired.name),
                    action: "application.rename",
                    target: nil,
                    from: .string(stored.name),
                    to: .string(desired.name)
                )
            )
        }
        if stored.database != desired.database {
            steps.append(
                PlannedChange(
                    .move(to: desired.database),
                    action: "application.move",
                    target: nil,
                    from: stored.database?.json,
                    to: desired.database?.json
                )
            )
        }
        let old = try? SettingsDocument.parse(stored: stored.settings)
        if !desired.keepsUnreadableSettings, old != desired.settings {
            let before = old.map { SettingsDocument.document(of: $0) } ?? stored.settings
            let names = (settings.object?.members ?? []).map(\.key).filter {
                settings.object?[$0] != before.object?[$0]
            }
            steps.append(
                PlannedChange(
                    .changeSettings(SettingsDocument.document(of: desired.settings, replacing: stored.settings)),
                    action: "application.settings",
                    target: nil,
                    from: old == nil ? before : before.picking(names),
                    to: settings.picking(names)
                )
            )
        }
        return steps + variables(from: DocumentVariables(stored: stored.variables), to: desired)
    }

    /// Returns the step that stores the names of environment variables that an applied document has for keys and
    /// secrets.
    ///
    /// An export of the application uses the stored names. If the step would not change the names in an export, the
    /// result is empty.
    private static func variables(
        from stored: DocumentVariables?,
        to desired: DesiredApplication
    ) -> [PlannedChange] {
        var former = desired
        former.variables = stored ?? DocumentVariables()
        let (old, new) = (former.exportedVariables, desired.exportedVariables)
        guard old != new else { return [] }
        return [
            PlannedChange(
                .nameVariables(new.json),
                action: "application.variables",
                target: nil,
                from: stored.map { _ in old.json.differing(from: new.json) },
                to: new.json.differing(from: old.json)
            )
        ]
    }
}

/// The steps that change API keys.
enum KeySteps {
    /// Returns the steps from the stored to the desired API keys, which are stored as hashes.
    ///
    /// The database allows each hash only once. A key is therefore revoked before another label gets its hash.
    static func steps(from stored: [StoredApplication.Key], to desired: [DesiredApplication.Key])
        -> [PlannedChange]
    {
        var revoked: [PlannedChange] = []
        var relabelled: [PlannedChange] = []
        var kept: [DesiredApplication.Key] = []
        for key in stored {
            let sameLabel = desired.first { $0.label.hasSameBytes(as: key.label) }
            let sameHash = desired.first { $0.hash == key.hash }
            if let sameHash, sameLabel == nil, !stored.contains(where: { $0.label.hasSameBytes(as: sameHash.label) }) {
                relabelled.append(relabel(key.label, to: sameHash.label))
                kept.append(DesiredApplication.Key(label: sameHash.label, hash: key.hash, server: key.server))
            } else if sameLabel == nil || (sameHash != nil && sameLabel?.hash != key.hash) {
                revoked.append(revoke(key.label))
            } else {
                kept.append(DesiredApplication.Key(label: key.label, hash: key.hash, server: key.server))
            }
        }
        let others = desired.flatMap { key -> [PlannedChange] in
            guard let old = kept.first(where: { $0.label.hasSameBytes(as: key.label) }) else { return [add(key)] }
            return (old.hash == key.hash ? [] : [replace(key)]) + (old.server == key.server ? [] : [change(key)])
        }
        return revoked + relabelled + others
    }

    private static func add(_ key: DesiredApplication.Key) -> PlannedChange {
        let change = ConfigurationChange.addKey(label: key.label, hash: key.hash, server: key.server)
        let to = key.server ? JSONValue.object(["key": .hidden, "server": .bool(true)]) : .hidden
        return PlannedChange(change, action: "key.add", target: key.label, from: nil, to: to)
    }

    private static func replace(_ key: DesiredApplication.Key) -> PlannedChange {
        let change = ConfigurationChange.replaceKey(label: key.label, hash: key.hash)
        return PlannedChange(change, action: "key.replace", target: key.label, from: .hidden, to: .hidden)
    }

    private static func change(_ key: DesiredApplication.Key) -> PlannedChange {
        PlannedChange(
            .changeKey(label: key.label, server: key.server),
            action: "key.change",
            target: key.label,
            from: .object(["server": .bool(!key.server)]),
            to: .object(["server": .bool(key.server)])
        )
    }

    private static func relabel(_ old: String, to new: String) -> PlannedChange {
        let change = ConfigurationChange.relabelKey(from: old, to: new)
        return PlannedChange(change, action: "key.relabel", target: old, from: .string(old), to: .string(new))
    }

    private static func revoke(_ label: String) -> PlannedChange {
        PlannedChange(.revokeKey(label: label), action: "key.revoke", target: label, from: .hidden, to: nil)
    }
}

/// The steps that change the mapping for a provider.
enum MappingSteps {
    static func steps(
        for provider: ProviderName,
        from stored: StoredApplication?,
        to desired: DesiredApplication
    ) -> [PlannedChange] {
        let old = (stored?.mappings[provider]?.document).map(listed)
        let new = listed(desired.mappings[provider] ?? .array([]))
        guard !new.isStored(as: old ?? .array([])) else { return [] }
        return [
            PlannedChange(
                .setMapping(provider, new),
                action: "mapping.\(provider).set",
                target: provider.text,
                from: old,
                to: new
            )
        ]
    }

    /// Returns the mapping as a list without default values.
    ///
    /// Mappings are stored and compared as such lists. A mapping that cannot be read is returned unchanged.
    private static func listed(_ document: JSONValue) -> JSONValue {
        (try? Mapping(document))?.json ?? document
    }
}

extension JSONValue {
    /// The placeholder that output has in place of a secret.
    package static let hidden = JSONValue.string("•••")

    /// Returns an object with those members of this object that are missing in `other` or have another value there.
    fileprivate func differing(from other: JSONValue) -> JSONValue {
        picking(memberNames.filter { object?[$0] != other.object?[$0] })
    }

    /// Returns an object with only the named members.
    func picking(_ names: [String]) -> JSONValue {
        .object(JSONObject(names.compactMap { name in object?[name].map { JSONObject.Member(name, $0) } }))
    }
}

/// The steps that change a provider.
enum ProviderSteps {
    static func steps(
        at provider: ProviderName,
        _ kinds: ProviderKinds,
        from stored: StoredApplication.Provider?,
        to desired: DesiredApplication.Provider?
    ) -> [PlannedChange] {
        let storedKind = stored.flatMap { kinds.named($0.kind) }
        guard let kind = desired.flatMap({ kinds.named($0.kind) }) ?? storedKind else {
            // This version does not know the kind, and can only remove the provider.
            let change = ConfigurationChange.removeProvider(provider)
            let action = "provider.\(provider).remove"
            return desired == nil && stored != nil
                ? [PlannedChange(change, action: action, target: provider.text, from: nil, to: nil)] : []
        }
        let defaults = kind.defaultOptions
        let oldOptions = stored?.readOptions(of: kind) ?? defaults
        func step(_ change: ConfigurationChange, _ action: String, from: JSONValue?, to: JSONValue?) -> PlannedChange {
            let action = "provider.\(provider).\(action)"
            return PlannedChange(change, action: action, target: provider.text, from: from, to: to)
        }
        /// Returns the member `enabled`, and the options whose values are different in `others` or missing there.
        ///
        /// The result has the placeholder `•••` in place of each secret.
        func settings(_ enabled: Bool, _ options: JSONValue, where others: JSONValue) -> [JSONObject.Member] {
            let names = (options.object?.members ?? []).map(\.key).filter { options.object?[$0] != others.object?[$0] }
            let shown = kind.members(of: options.picking(names)) { _, _ in .hidden }
            return [JSONObject.Member("enabled", .bool(enabled))] + shown
        }
        func apps(_ apps: [(id: ProviderAppID, isNew: Bool, configID: String?)]) -> JSONValue {
            .array(
                apps.map { app in
                    var object: JSONObject = [kind.appTerms.id: .string(app.id.text)]
                    if app.isNew { object.append(kind.appTerms.secret, .hidden) }
                    kind.appTerms.write(configID: app.configID, into: &object)
                    return .object(object)
                }
            )
        }
        let oldApps = stored.map { apps($0.apps.map { (id: $0.id, isNew: false, configID: $0.configID) }) }
        guard let desired else {
            guard let stored else { return [] }
            var from = settings(stored.enabled, oldOptions, where: defaults)
            if let oldApps { from.append(JSONObject.Member("apps", oldApps)) }
            return [step(.removeProvider(provider), "remove", from: .object(JSONObject(from)), to: nil)]
        }
        var steps: [PlannedChange] = []
        if stored?.enabled != desired.enabled || oldOptions != desired.options {
            let from = stored.map {
                JSONValue.object(JSONObject(settings($0.enabled, oldOptions, where: desired.options)))
            }
            let to = JSONValue.object(JSONObject(settings(desired.enabled, desired.options, where: oldOptions)))
            let change = ConfigurationChange.setProvider(
                provider,
                kind: desired.kind,
                enabled: desired.enabled,
                options: stored.map { $0.keepingUnknownOptions(in: desired.options, of: kind) } ?? desired.options
            )
            steps.append(step(change, "set", from: from, to: to))
        }
        let known = stored?.apps ?? []
        if known.map(\.id) != desired.apps.map(\.id) || known.map(\.configID) != desired.apps.map(\.configID)
            || desired.apps.contains(where: { $0.newSecret != nil })
        {
            let change = ConfigurationChange.setProviderApps(
                provider,
                desired.apps.map { .init(id: $0.id, secret: $0.newSecret, configID: $0.configID) }
            )
            let newApps = apps(
                desired.apps.map { (id: $0.id, isNew: $0.newSecret != nil, configID: $0.configID) }
            )
            steps.append(step(change, "apps", from: oldApps, to: newApps))
        }
        return steps
    }
}

extension DesiredApplication.App {
    fileprivate var newSecret: EncryptedSecret? {
        guard case .encrypted(let secret) = secret else { return nil }
        return secret
    }
}

/// The steps that change properties.
///
/// A mapping can only write existing properties. Properties are therefore declared before a step sets the mapping, and
/// removed after it.
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
        // Properties that are declared now come last.
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
        if old.rules != new.rules {
            steps.append(
                step(.changeProperty(new), "property.change", new, from: .object(old.rules), to: .object(new.rules))
            )
        }
        if old.indexed != new.indexed {
            let change = ConfigurationChange.indexProperty(new.name, new.indexed)
            let (from, to) = (JSONValue.bool(old.indexed), JSONValue.bool(new.indexed))
            steps.append(step(change, "property.index", new, from: from, to: to))
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
    /// Returns the name that a stored property has after the change.
    func nameNow(of stored: PropertyName) -> PropertyName {
        renamed.reduce(stored) { name, rename in name == rename.from ? rename.to : name }
    }

    /// Returns the stored property that has this name once the planned renamings are done.
    ///
    /// Without a stored application, only a built-in property can have the name.
    func formerly(_ name: PropertyName, in stored: StoredApplication?) -> Property? {
        (stored?.properties ?? Property.builtIn).first { nameNow(of: $0.name) == name }
    }
}

extension Property {
    /// The declaration of the property in a document.
    var declaration: JSONValue {
        var members = [JSONObject.Member("type", .string(type.rawValue))] + rules.members
        if indexed { members.append(.init("indexed", .bool(true))) }
        return .object(JSONObject(members))
    }

    /// The parts of a property's declaration other than its name, its type and its index.
    var rules: JSONObject {
        [
            "required": .bool(required), "clientMappable": .bool(clientMappable),
            "visibleTo": .string(visibleTo.rawValue),
        ]
    }
}

extension PropertyName {
    /// Whether every application has the property.
    var isBuiltIn: Bool { self == .email || self == .name }
}
