import FoundationEssentials
import Graph
package import Identity
import Store

extension Administration {
    /// Proves id and secret of every app against Graph:
    /// `{"apps": [{"appId", "ok", "name"?, "problem"?, "reason"?, "answeredVersion"?}], "warnings": [text]}`.
    ///
    /// - Throws: `not_found` when the provider is not configured.
    package func checkFacebook(of application: String) async throws(Failure) -> JSONValue {
        let stored = try await existing(application)
        let facebook = try stored.configuredFacebook()
        let verdicts = await withTaskGroup(of: (Int, JSONValue).self) { group in
            var verdicts = [JSONValue](repeating: .null, count: facebook.apps.count)
            for (index, app) in facebook.apps.enumerated() {
                if index >= Self.checksAtOnce, let (index, verdict) = await group.next() { verdicts[index] = verdict }
                group.addTask { (index, await verdict(on: app, of: facebook, application: stored.id)) }
            }
            for await (index, verdict) in group { verdicts[index] = verdict }
            return verdicts
        }
        return .object([
            "apps": .array(verdicts),
            "warnings": .array(warnings(about: facebook, of: stored.id).map(JSONValue.string)),
        ])
    }

    /// What the operator should know about the settings: of the version of Graph by the calendar and by what has answered this
    /// instance, and of a nonce that nobody holds anything to.
    func warnings(about facebook: StoredApplication.Facebook, of application: ApplicationID) -> [String] {
        let days = Int(Date().timeIntervalSince1970 / 86_400)
        guard let today = CalendarDate(daysSince1970: days) else { return [] }
        let version = facebook.graphVersion
        let answered = facebook.apps.compactMap {
            graph.answeredVersion(of: $0.id, application: application, asked: version)
        }
        var warnings = GraphVersions.warnings(for: version, answered: nil, today: today)
        for other in answered {
            let more = GraphVersions.warnings(for: version, answered: other, today: today)
            warnings += more.filter { !warnings.contains($0) }
        }
        if let options = try? FacebookOptionsDocument.parse(facebook.options), options.nonce == .off {
            warnings.append(
                """
                nonce is off: an ID token that iOS SDK 18.1 refreshed, which is bound to a key of the device, is taken whatever \
                its nonce is. Whoever gets hold of one before it was used can log in with it. Set clientMade, unless your app \
                sends such tokens.
                """
            )
        }
        return warnings
    }

    private static let checksAtOnce = 8

    private func verdict(
        on app: StoredApplication.App,
        of facebook: StoredApplication.Facebook,
        application: ApplicationID
    ) async -> JSONValue {
        let place = MasterKey.Place.appSecret(application: application, app: app.id)
        guard let secret = masterKeys.open(app.secret, at: place) else {
            return .verdict(on: app.id, problem: masterKeys.problem(of: app), reason: .providerMisconfigured)
        }
        let check = await graph.check(
            app: FacebookApp(id: app.id, secret: secret),
            settings: FacebookSettings(
                enabled: facebook.enabled,
                graphVersion: facebook.graphVersion,
                proof: facebook.proof,
                apps: []
            ),
            application: application,
            deadline: .now + Self.facebookPatience,
            now: Int64(Date().timeIntervalSince1970)
        )
        let version = check.answeredVersion
        return switch check.outcome {
        case .right(let name): .verdict(on: app.id, name: name, version: version)
        case .wrong(let problem, let failure):
            .verdict(on: app.id, problem: problem, reason: failure.reason, version: version)
        case .unknown(let failure):
            .verdict(on: app.id, problem: failure.message, reason: failure.reason, version: version)
        }
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

extension JSONValue {
    /// All is well unless there is a problem.
    fileprivate static func verdict(
        on app: FacebookAppID,
        name: String? = nil,
        problem: String? = nil,
        reason: Failure.Reason? = nil,
        version: String? = nil
    ) -> JSONValue {
        var object: JSONObject = ["appId": .string(app.text), "ok": .bool(problem == nil)]
        let texts = [("name", name), ("problem", problem), ("reason", reason?.rawValue), ("answeredVersion", version)]
        for (key, text) in texts {
            if let text { object.append(key, .string(text)) }
        }
        return .object(object)
    }
}
