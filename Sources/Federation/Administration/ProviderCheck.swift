package import Identity
import Store

extension Administration {
    /// Proves id and secret of every app against the provider:
    /// `{"apps": [{"appId", "ok", "name"?, "problem"?, "reason"?, "answeredVersion"?}], "warnings": [text]}`.
    ///
    /// - Throws: `not_found` when the provider is not configured.
    package func check(_ provider: ProviderName, of application: String) async throws(Failure) -> JSONValue {
        let stored = try await existing(application)
        let (type, settings) = try stored.configured(provider)
        let verdicts = await withTaskGroup(of: (Int, JSONValue).self) { group in
            var verdicts = [JSONValue](repeating: .null, count: settings.apps.count)
            for (index, app) in settings.apps.enumerated() {
                if index >= Self.checksAtOnce, let (index, verdict) = await group.next() { verdicts[index] = verdict }
                group.addTask { (index, await verdict(on: app, at: type, settings, of: stored.id)) }
            }
            for await (index, verdict) in group { verdicts[index] = verdict }
            return verdicts
        }
        let warnings = type.warnings(about: settings, of: stored.id, in: self)
        return .object(["apps": .array(verdicts), "warnings": .array(warnings.map(JSONValue.string))])
    }

    private static let checksAtOnce = 8

    private func verdict(
        on app: StoredApplication.App,
        at provider: any IdentityProvider.Type,
        _ settings: StoredApplication.Provider,
        of application: ApplicationID
    ) async -> JSONValue {
        let place = MasterKey.Place.appSecret(application: application, provider: provider.name, app: app.id)
        var verdict = AppVerdict(problem: (masterKeys.problem(of: app), .providerMisconfigured))
        if let secret = masterKeys.open(app.secret, at: place) {
            let app = ProviderApp(id: app.id, secret: secret)
            verdict = await provider.check(app, of: settings, application: application, in: self)
        }
        return verdict.json(of: app.id, as: provider.appTerms)
    }
}

extension MasterKeys {
    /// Why the secret of an app does not open, and what to do.
    fileprivate func problem(of app: StoredApplication.App) -> String {
        let keyID = app.secret.keyID
        return ids.contains(keyID)
            ? "The secret of this app does not open: it was changed by other means. Set it anew."
            : """
            The secret of this app is under the master key \(keyID), which is not at hand. Give that key as \
            FEDERATION_MASTER_KEY_PREVIOUS, or set the secret anew.
            """
    }
}

extension AppVerdict {
    /// All is well unless there is a problem.
    fileprivate func json(of app: ProviderAppID, as terms: AppTerms) -> JSONValue {
        var object: JSONObject = [terms.id: .string(app.text), "ok": .bool(problem == nil)]
        let texts = [
            ("name", name), ("problem", problem?.text), ("reason", problem?.reason.rawValue),
            ("answeredVersion", answeredVersion),
        ]
        for (key, text) in texts {
            if let text { object.append(key, .string(text)) }
        }
        return .object(object)
    }
}
