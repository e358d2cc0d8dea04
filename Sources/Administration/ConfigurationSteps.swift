import Applications
package import Vocabulary
import Mapping
import Store

/// The steps about an application as a whole.
enum ApplicationSteps {
    package static func steps(from stored: StoredApplication?, to desired: DesiredApplication) -> [PlannedChange] {
        let settings = SettingsDocument.document(of: desired.settings)
        guard let stored else {
            let create = ConfigurationChange.create(name: desired.name, schema: desired.schema, settings: settings)
            let to: JSONObject = [
                "name": .string(desired.name), "schema": .string(desired.schema), "settings": settings,
            ]
            return [PlannedChange(create, action: "application.create", target: nil, from: nil, to: .object(to))]
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
        let old = try? SettingsDocument.parse(stored.settings)
        if !desired.keepsUnreadableSettings, old != desired.settings {
            let before = old.map { SettingsDocument.document(of: $0) } ?? stored.settings
            let names = (settings.object?.members ?? []).map(\.key).filter {
                settings.object?[$0] != before.object?[$0]
            }
            steps.append(
                PlannedChange(
                    .changeSettings(settings),
                    action: "application.settings",
                    target: nil,
                    from: old == nil ? before : before.picking(names),
                    to: settings.picking(names)
                )
            )
        }
        return steps
    }
}

/// The steps about API keys.
enum KeySteps {
    /// A hash belongs to one label at a time: those that another label shall have are revoked before it gets them.
    package static func steps(from stored: [StoredApplication.Key], to desired: [DesiredApplication.Key])
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

/// The steps about the mapping for a provider.
enum MappingSteps {
    package static func steps(
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

    /// The list form with every default left out, which is how mappings are stored and compared.
    private static func listed(_ document: JSONValue) -> JSONValue {
        (try? Mapping(document))?.json ?? document
    }
}

extension JSONValue {
    /// Shown wherever something secret is meant.
    package static let hidden = JSONValue.string("•••")

    /// An object of only those members.
    func picking(_ names: [String]) -> JSONValue {
        .object(JSONObject(names.compactMap { name in object?[name].map { JSONObject.Member(name, $0) } }))
    }
}
