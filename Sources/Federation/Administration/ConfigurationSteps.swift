import Identity
import Mapping
import Store

/// Shown wherever something secret is meant.
private let hidden = JSONValue.string("•••")

/// The steps about an application as a whole.
enum ApplicationSteps {
    static func steps(from stored: StoredApplication?, to desired: DesiredApplication) -> [PlannedChange] {
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
    static func steps(from stored: [StoredApplication.Key], to desired: [DesiredApplication.Key]) -> [PlannedChange] {
        var revoked: [PlannedChange] = []
        var relabelled: [PlannedChange] = []
        var kept: [DesiredApplication.Key] = []
        for key in stored {
            let sameLabel = desired.first { $0.label.hasSameBytes(as: key.label) }
            let sameHash = desired.first { $0.hash == key.hash }
            if let sameHash, sameLabel == nil, !stored.contains(where: { $0.label.hasSameBytes(as: sameHash.label) }) {
                relabelled.append(relabel(key.label, to: sameHash.label))
                kept.append(sameHash)
            } else if sameLabel == nil || (sameHash != nil && sameLabel?.hash != key.hash) {
                revoked.append(revoke(key.label))
            } else {
                kept.append(DesiredApplication.Key(label: key.label, hash: key.hash))
            }
        }
        let others = desired.compactMap { key in
            let old = kept.first { $0.label.hasSameBytes(as: key.label) }
            return old == nil ? add(key) : old?.hash == key.hash ? nil : replace(key)
        }
        return revoked + relabelled + others
    }

    private static func add(_ key: DesiredApplication.Key) -> PlannedChange {
        let change = ConfigurationChange.addKey(label: key.label, hash: key.hash)
        return PlannedChange(change, action: "key.add", target: key.label, from: nil, to: hidden)
    }

    private static func replace(_ key: DesiredApplication.Key) -> PlannedChange {
        let change = ConfigurationChange.replaceKey(label: key.label, hash: key.hash)
        return PlannedChange(change, action: "key.replace", target: key.label, from: hidden, to: hidden)
    }

    private static func relabel(_ old: String, to new: String) -> PlannedChange {
        let change = ConfigurationChange.relabelKey(from: old, to: new)
        return PlannedChange(change, action: "key.relabel", target: old, from: .string(old), to: .string(new))
    }

    private static func revoke(_ label: String) -> PlannedChange {
        PlannedChange(.revokeKey(label: label), action: "key.revoke", target: label, from: hidden, to: nil)
    }
}

/// The steps about the provider.
enum FacebookSteps {
    static func steps(
        from stored: StoredApplication.Facebook?,
        to desired: DesiredApplication.Facebook?
    ) -> [PlannedChange] {
        let old = stored.map { settings($0.enabled, $0.graphVersion, $0.proof) }
        guard let desired else {
            guard let stored, let old else { return [] }
            let apps = JSONValue.array(stored.apps.map { .object(["appId": .string($0.id.text)]) })
            let from = JSONObject((old.object?.members ?? []) + [JSONObject.Member("apps", apps)])
            return [step(.removeFacebook, "provider.facebook.remove", from: .object(from), to: nil)]
        }
        var steps: [PlannedChange] = []
        let new = settings(desired.enabled, desired.graphVersion, desired.proof)
        if old != new {
            let change = ConfigurationChange.setFacebook(
                enabled: desired.enabled,
                graphVersion: desired.graphVersion,
                proof: desired.proof
            )
            steps.append(step(change, "provider.facebook.set", from: old, to: new))
        }
        let ids = stored?.apps.map(\.id) ?? []
        if ids != desired.apps.map(\.id) || desired.apps.contains(where: { $0.newSecret != nil }) {
            let change = ConfigurationChange.setFacebookApps(desired.apps.map { (id: $0.id, secret: $0.newSecret) })
            steps.append(step(change, "provider.facebook.apps", from: stored.map(apps), to: apps(desired)))
        }
        return steps
    }

    private static func step(
        _ change: ConfigurationChange,
        _ action: String,
        from: JSONValue?,
        to: JSONValue?
    ) -> PlannedChange {
        PlannedChange(change, action: action, target: "facebook", from: from, to: to)
    }

    private static func settings(_ enabled: Bool, _ graphVersion: String, _ proof: ProofForm) -> JSONValue {
        .object([
            "enabled": .bool(enabled), "graphVersion": .string(graphVersion), "proof": .string(proof.rawValue),
        ])
    }

    private static func apps(_ facebook: StoredApplication.Facebook) -> JSONValue {
        .array(facebook.apps.map { .object(["appId": .string($0.id.text)]) })
    }

    /// An app has a secret here when it gets another one.
    private static func apps(_ facebook: DesiredApplication.Facebook) -> JSONValue {
        .array(
            facebook.apps.map { app in
                var object: JSONObject = ["appId": .string(app.id.text)]
                if app.newSecret != nil { object.append("appSecret", hidden) }
                return .object(object)
            }
        )
    }
}

/// The steps about the mapping.
enum MappingSteps {
    static func steps(from stored: StoredApplication?, to desired: DesiredApplication) -> [PlannedChange] {
        let old = stored?.mapping.map(listed)
        let new = listed(desired.mapping)
        guard !new.isStored(as: old ?? .array([])) else { return [] }
        return [
            PlannedChange(.setMapping(new), action: "mapping.facebook.set", target: "facebook", from: old, to: new)
        ]
    }

    /// The list form with every default left out, which is how mappings are stored and compared.
    private static func listed(_ document: JSONValue) -> JSONValue {
        (try? Mapping(document))?.json ?? document
    }
}

extension DesiredApplication.App {
    fileprivate var newSecret: SealedSecret? {
        guard case .sealed(let secret) = secret else { return nil }
        return secret
    }
}

extension JSONValue {
    /// An object of only those members.
    fileprivate func picking(_ names: [String]) -> JSONValue {
        .object(JSONObject(names.compactMap { name in object?[name].map { JSONObject.Member(name, $0) } }))
    }
}
