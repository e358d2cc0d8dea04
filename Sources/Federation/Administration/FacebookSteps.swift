import Identity
import Store

/// The steps about the provider.
enum FacebookSteps {
    static func steps(
        from stored: StoredApplication.Facebook?,
        to desired: DesiredApplication.Facebook?
    ) -> [PlannedChange] {
        let defaults = FacebookOptionsDocument.document(of: FacebookOptions())
        let oldOptions = stored.map(\.readOptions) ?? defaults
        guard let desired else {
            guard let stored else { return [] }
            var from = settings(stored.enabled, stored.graphVersion, stored.proof)
            from += options(oldOptions, where: defaults)
            from.append(JSONObject.Member("apps", apps(stored)))
            return [step(.removeFacebook, "provider.facebook.remove", from: .object(JSONObject(from)), to: nil)]
        }
        var steps: [PlannedChange] = []
        let newOptions =
            desired.keepsUnreadableOptions ? oldOptions : FacebookOptionsDocument.document(of: desired.options)
        let old = stored.map {
            settings($0.enabled, $0.graphVersion, $0.proof) + options(oldOptions, where: newOptions)
        }
        let new =
            settings(desired.enabled, desired.graphVersion, desired.proof) + options(newOptions, where: oldOptions)
        let (from, to) = (old.map { JSONValue.object(JSONObject($0)) }, JSONValue.object(JSONObject(new)))
        if from != to || oldOptions != newOptions {
            let change = ConfigurationChange.setFacebook(
                enabled: desired.enabled,
                graphVersion: desired.graphVersion,
                proof: desired.proof,
                options: newOptions
            )
            steps.append(step(change, "provider.facebook.set", from: from, to: to))
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

    private static func settings(_ enabled: Bool, _ graphVersion: String, _ proof: ProofForm) -> [JSONObject.Member] {
        [
            JSONObject.Member("enabled", .bool(enabled)), JSONObject.Member("graphVersion", .string(graphVersion)),
            JSONObject.Member("proof", .string(proof.rawValue)),
        ]
    }

    /// The options that are not the others, as an operator may see them later: without the text that Facebook repeats.
    private static func options(_ options: JSONValue, where others: JSONValue) -> [JSONObject.Member] {
        let changed = options.picking(FacebookOptionsDocument.names(changedFrom: others, to: options))
        return (changed.object?.members ?? []).map { member in
            let isToken = member.key.hasSameBytes(as: FacebookOptionsDocument.verifyToken) && !member.value.isNull
            return isToken ? JSONObject.Member(member.key, .hidden) : member
        }
    }

    private static func apps(_ facebook: StoredApplication.Facebook) -> JSONValue {
        .array(facebook.apps.map { .object(["appId": .string($0.id.text)]) })
    }

    /// An app has a secret here when it gets another one.
    private static func apps(_ facebook: DesiredApplication.Facebook) -> JSONValue {
        .array(
            facebook.apps.map { app in
                var object: JSONObject = ["appId": .string(app.id.text)]
                if app.newSecret != nil { object.append("appSecret", .hidden) }
                return .object(object)
            }
        )
    }
}

extension StoredApplication.Facebook {
    /// All the options; as they are stored when they cannot be read.
    fileprivate var readOptions: JSONValue {
        (try? FacebookOptionsDocument.parse(options)).map(FacebookOptionsDocument.document) ?? options
    }
}

extension DesiredApplication.App {
    fileprivate var newSecret: SealedSecret? {
        guard case .sealed(let secret) = secret else { return nil }
        return secret
    }
}
