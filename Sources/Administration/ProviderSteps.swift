import Applications
import Providers
import Vocabulary
import Store

/// The steps about a provider.
enum ProviderSteps {
    package static func steps(
        at provider: ProviderName,
        _ kinds: ProviderKinds,
        from stored: StoredApplication.Provider?,
        to desired: DesiredApplication.Provider?
    ) -> [PlannedChange] {
        let storedKind = stored.flatMap { kinds.named($0.kind) }
        guard let kind = desired.flatMap({ kinds.named($0.kind) }) ?? storedKind else {
            // Of a kind that this version does not know: it can be removed, and nothing else.
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
        /// As an operator may see them later: the options that are not the others.
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
                options: desired.options
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
    fileprivate var newSecret: SealedSecret? {
        guard case .sealed(let secret) = secret else { return nil }
        return secret
    }
}
