import Applications
import Description
import Domain
import Encodings
import Providers
import Secrets
import Store

/// Converts the keys and secrets of a document to the form in which the database stores them.
///
/// API keys become hashes. App secrets and secret options are encrypted.
struct DocumentSecrets {
    let application: ApplicationID
    /// The stored application; nil for a new one.
    let stored: StoredApplication?
    let masterKeys: MasterKeys
    let clock: WallClock
    let environment: @Sendable (String) -> String?
    var problems = DocumentProblems()
    /// The environment variables that the document names for keys and secrets.
    ///
    /// If the document names no variable for a key or a secret, the stored name stays.
    private(set) var variables = DocumentVariables()

    init(
        of application: ApplicationID,
        stored: StoredApplication?,
        masterKeys: MasterKeys,
        clock: WallClock,
        environment: @escaping @Sendable (String) -> String? = { _ in nil }
    ) {
        self.application = application
        self.stored = stored
        self.masterKeys = masterKeys
        self.clock = clock
        self.environment = environment
    }

    mutating func keys(_ keys: [ApplicationDocument.Key], at place: JSONPointer) -> [DesiredApplication.Key] {
        keys.enumerated().map { index, key in
            note(key.key, at: DocumentVariables.key(key.label))
            return DesiredApplication.Key(
                label: key.label,
                hash: hash(of: key, at: place / index / "key"),
                server: key.server
            )
        }
    }

    mutating func provider(
        _ provider: ApplicationDocument.Provider,
        named name: ProviderName,
        _ kinds: ProviderKinds,
        at place: JSONPointer
    ) -> DesiredApplication.Provider? {
        guard let kind = kinds.named(provider.kind) else { return nil }
        let apps = provider.apps.enumerated().map { index, app in
            note(app.secret, at: DocumentVariables.app(app.id, at: name))
            let secret = appSecret(of: app, at: name, kind, place / "apps" / index / kind.appTerms.secret)
            return DesiredApplication.App(id: app.id, secret: secret, configID: app.configID)
        }
        let options = kind.options(provider.options) { option in
            if let given = provider.secrets[option.name] {
                note(given, at: DocumentVariables.option(option, of: name))
            }
            return self.option(option, given: provider.secrets[option.name], at: name, place / option.name)?.json
        }
        return DesiredApplication.Provider(
            kind: kind.name,
            enabled: provider.enabled,
            options: options,
            apps: apps
        )
    }

    /// Remembers the environment variable that the document names for a key or a secret.
    ///
    /// `place` is the JSON pointer under which `variables` stores the name.
    private mutating func note(_ given: ApplicationDocument.GivenSecret, at place: JSONPointer) {
        let former = DocumentVariables(stored: stored?.variables ?? .null)[place]
        switch given {
        case .variable(let name): variables[place] = name
        case .stored(let variable): variables[place] = variable ?? former
        case .value: variables[place] = former
        case .removed, .unreadable: break
        }
    }

    /// Checks the text of an API key.
    ///
    /// If it is invalid, returns the reason as a part of an error message; otherwise nil. An API key is a part of URLs,
    /// so it contains only characters that need no escape there. It has at least 16 characters, so that no client
    /// guesses it.
    static func problem(ofKey key: Secret, from source: String = "") -> String? {
        let isURLSafe = key.reveal().utf8.allSatisfy {
            $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
        guard !isURLSafe || !(16...128).contains(key.byteCount) else { return nil }
        return "the API key\(source) must be 16 to 128 letters, digits, - or _"
    }

    private mutating func hash(of key: ApplicationDocument.Key, at place: JSONPointer) -> [UInt8] {
        if case .stored = key.key {
            if let stored = stored?.keys.first(where: { $0.label.hasSameBytes(as: key.label) }) { return stored.hash }
            problems.add(place, "is required: no key is stored with this label")
            return []
        }
        guard let given = secret(key.key, at: place) else { return [] }
        if let problem = Self.problem(ofKey: given.secret, from: given.source) {
            problems.add(given.place, problem)
            return []
        }
        return Digest.sha256(given.secret.reveal())
    }

    private mutating func appSecret(
        of app: ApplicationDocument.Provider.App,
        at name: ProviderName,
        _ kind: any ProviderKind,
        _ place: JSONPointer
    ) -> DesiredApplication.AppSecret {
        let nothing = EncryptedSecret(bytes: [], keyID: "")
        if case .stored = app.secret { return .unchanged }
        guard let given = secret(app.secret, at: place) else { return .encrypted(nothing) }
        if let problem = given.secret.problem(as: kind.appTerms.secretTitle + given.source, bytes: 1...256) {
            problems.add(given.place, problem)
            return .encrypted(nothing)
        }
        return masterKeys.desired(given.secret, of: app.id, at: name, in: application, stored: stored)
    }

    /// Returns the stored form of a secret option; nil if the option is to be absent.
    private mutating func option(
        _ option: SecretOption,
        given: ApplicationDocument.GivenSecret?,
        at name: ProviderName,
        _ place: JSONPointer
    ) -> StoredSecretOption? {
        let old = StoredSecretOption(stored?.providers[name]?.options.object?[option.name])
        let row = MasterKey.Place.secretOption(application: application, provider: name, option: option.name)
        if case .stored = given, old == nil { problems.add(place, "is required: none is stored") }
        switch given {
        case nil, .stored:
            // An earlier version stored the secret as plain text. Any change encrypts such a secret.
            return old.map { old in
                old.json.string.map { masterKeys.stored(Secret($0), insteadOf: old, at: row, clock) } ?? old
            }
        case .some(let given):
            // The result is nil for `.removed`, too.
            guard let given = secret(given, at: place) else { return nil }
            if let problem = option.problem(of: given.secret, from: given.source) {
                problems.add(given.place, problem)
                return nil
            }
            return masterKeys.stored(given.secret, insteadOf: old, at: row, clock)
        }
    }

    /// Returns the text of a key or a secret: from the document itself, or from the environment variable that the
    /// document names.
    ///
    /// For error messages, the result also has the position in the document and `source`. `source` names the variable,
    /// as in ` in SHOP_SECRET`, and is empty without a variable. The result is nil if the document has neither, or if
    /// the variable is not set.
    private mutating func secret(
        _ given: ApplicationDocument.GivenSecret,
        at place: JSONPointer
    ) -> (secret: Secret, place: JSONPointer, source: String)? {
        switch given {
        case .stored, .removed, .unreadable: return nil
        case .value(let secret): return (secret, place, "")
        case .variable(let name):
            let place = place / "env"
            guard let text = environment(name), !text.isEmpty else {
                problems.add(place, "the environment variable \(name) is not set; the document needs its secret")
                return nil
            }
            return (Secret(text), place, " in \(name)")
        }
    }
}
