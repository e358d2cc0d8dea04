import Applications
package import Domain
package import Encodings
import FoundationEssentials
import Mapping
import Providers
import Secrets
import Store

extension ProviderAdministration {
    /// Checks every app's id and secret, and the fields that the mapping reads, at the provider.
    ///
    /// - Parameters:
    ///   - provider: The provider.
    ///   - application: The application.
    ///   - redirectURIs: Redirect URIs with which dialogs should open, besides those on the application's host names.
    /// - Returns: `{"apps": [{"appId", "ok", "name"?, "problem"?, "reason"?, "answeredVersion"?}], "problems": [text],
    ///   "warnings": [text]}`.
    /// - Throws: `not_found` when the provider is not configured.
    package func check(
        _ provider: ProviderName,
        of application: String,
        redirectURIs: [String] = []
    ) async throws(Failure) -> JSONValue {
        let stored = try await changes.existing(application)
        let (kind, settings) = try stored.configured(provider, kinds)
        let loaded = LoadedApplication(stored, masterKeys: masterKeys, kinds: kinds)
        let value =
            loaded.configured(provider)
            ?? self.provider(settings, named: provider, of: kind, application: stored.id)
        let verdicts = await withTaskGroup(of: (Int, AppVerdict).self) { group in
            var verdicts = [AppVerdict](repeating: AppVerdict(), count: settings.apps.count)
            for (index, app) in settings.apps.enumerated() {
                if index >= Self.checksAtOnce, let (index, verdict) = await group.next() { verdicts[index] = verdict }
                group.addTask { (index, await verdict(on: app, at: value, named: provider, of: stored)) }
            }
            for await (index, verdict) in group { verdicts[index] = verdict }
            return verdicts
        }
        var apps = zip(settings.apps, verdicts).map { app, verdict in verdict.json(of: app.id, as: kind.appTerms) }
        var warnings = warnings(about: settings, named: provider, of: kind, application: stored.id)
        if !(value is any AppChecking) {
            warnings.append(
                "\(kind.title) cannot check an app: ok only means that its secret can be decrypted here."
            )
        }
        warnings += verdicts.flatMap(\.warnings)
        for app in value?.apps ?? [] where !settings.apps.contains(where: { $0.id == app.id }) {
            guard let checking = value as? any AppChecking else { break }
            let verdict = await checking.check(app, deadline: .now + Administration.providerTimeout)
            apps.append(verdict.json(of: app.id, as: kind.appTerms))
        }
        let hosts = loaded.application.settings.hostNames.map { "https://\($0)/api/users/oauth/\(provider)/authorize" }
        warnings += await dialogWarnings(of: value, with: redirectURIs + hosts)
        var problems: [String] = []
        if let mapping = stored.mappings[provider]?.document, let configured = loaded.configured(provider),
            case .asked(let found) = await store.check(fieldsOf: mapping, at: configured, in: stored.place)
        {
            problems = found.map(\.message)
        }
        return .object([
            "apps": .array(apps), "problems": .array(problems.map(JSONValue.string)),
            "warnings": .array(warnings.map(JSONValue.string)),
        ])
    }

    private static let checksAtOnce = 8

    /// Returns warnings about redirect URIs that the provider does not accept for the app of its dialogs.
    private func dialogWarnings(of provider: (any Provider)?, with redirectURIs: [String]) async -> [String] {
        guard let checking = provider as? any DialogChecking, let app = checking.apps.first else { return [] }
        var warnings: [String] = []
        for redirectURI in redirectURIs.prefix(Self.checksAtOnce) {
            let deadline = ContinuousClock.now + Administration.providerTimeout
            if let warning = await checking.warning(about: redirectURI, of: app, deadline: deadline) {
                warnings.append(warning)
            }
        }
        return warnings
    }

    private func verdict(
        on app: StoredApplication.App,
        at provider: (any Provider)?,
        named name: ProviderName,
        of application: StoredApplication
    ) async -> AppVerdict {
        let place = MasterKey.Place.appSecret(application: application.id, provider: name, app: app.id)
        guard let secret = masterKeys.open(app.secret, at: place) else {
            return AppVerdict(problem: (masterKeys.problem(of: app), .providerMisconfigured))
        }
        guard let checking = provider as? any AppChecking else { return AppVerdict() }
        let app = ProviderApp(id: app.id, secret: secret)
        var verdict = await checking.check(app, deadline: .now + Administration.providerTimeout)
        if let dialogs = provider as? any DialogOffering, dialogs.dialogChallenge == .auto,
            let warning = await warning(ofLostChallenge: app.id, at: dialogs, in: application.place)
        {
            verdict.warnings.append(warning)
        }
        return verdict
    }

    /// Returns a warning if a login dialog of the app has recently lost its PKCE `code_challenge`.
    ///
    /// Dialogs are then opened without one for some time. The result is nil without such a loss, and also if the
    /// database is unavailable.
    private func warning(
        ofLostChallenge app: ProviderAppID,
        at provider: any DialogOffering,
        in application: ApplicationPlace
    ) async -> String? {
        let hash = provider.lostChallengeHash(of: app)
        guard let until = try? await store.lostChallenge(of: hash, in: application) else { return nil }
        let time = Date(timeIntervalSince1970: Double(until / 1000)).ISO8601Format()
        return """
            \(provider.title) lost the PKCE challenge of a login dialog of the app \(app). Until \(time) its dialogs \
            are opened without one. If this repeats, set pkce to off. If you suspect an attack, set pkce to on.
            """
    }
}

extension MasterKeys {
    /// Returns a message that tells an operator why an app's secret does not decrypt, and what to do.
    fileprivate func problem(of app: StoredApplication.App) -> String {
        let keyID = app.secret.keyID
        return ids.contains(keyID)
            ? "The secret of this app cannot be decrypted, because it was changed outside the service. Set it again."
            : """
            The secret of this app is encrypted with the master key \(keyID), which is not available. Set that key as \
            FEDERATION_MASTER_KEY_PREVIOUS, or set the secret again.
            """
    }
}

extension AppVerdict {
    /// Returns the result of the check of an app as a JSON object.
    ///
    /// Without a problem, `ok` is true.
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
