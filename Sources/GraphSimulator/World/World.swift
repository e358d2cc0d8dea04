/// Everything that exists on the Facebook side: apps, people, tokens.
struct World: Sendable {
    private(set) var apps: [App] = []
    private(set) var people: [Person] = []
    /// By text.
    ///
    /// Only ASCII texts of at most ``maximumTokenLength`` bytes get in and are ever looked up, so hashing one costs
    /// little whatever a client sends.
    private(set) var tokens: [String: Token] = [:]
    /// By text; used ones stay, since Graph tells a used code from one that never was.
    var codes: [String: AuthorizationCode] = [:]
    private(set) var removedFields = RemovedField.known
    /// What signs ID tokens.
    var keys: KeyRing
    /// Twitter, which shares nothing with the rest but the address.
    var twitter: TwitterWorld
    /// The SMS gateway, which has nothing to do with either.
    var gateway: SMSGateway
    var generator = SplitMix64(seed: .random(in: .min ... .max))

    static let maximumTokenLength = 4096
    private static let day = 86400
    private static let pageID = "104518538110217"

    init(_ dataset: GraphSimulator.Dataset, now: Int) throws(DataError) {
        keys = try KeyRing.known()
        twitter = try TwitterWorld(dataset.twitter)
        gateway = try SMSGateway(secret: dataset.smsSecret)
        for (index, app) in dataset.apps.enumerated() {
            guard self.app(app.id) == nil else {
                throw DataError(path: "apps[\(index)].id", reason: "the app \(app.id) appears twice")
            }
            put(app)
        }
        for field in dataset.removedFields { put(field) }
        for (index, person) in dataset.people.enumerated() {
            guard self.person(person.key) == nil else {
                throw DataError(path: "people[\(index)].key", reason: "\"\(person.key)\" appears twice")
            }
            put(person)
        }
        for (index, person) in dataset.people.enumerated() {
            for (position, friend) in person.friends.enumerated() where self.person(friend) == nil {
                throw DataError(path: "people[\(index)].friends[\(position)]", reason: "no person \"\(friend)\"")
            }
        }
        for (index, request) in dataset.tokens.enumerated() {
            do {
                _ = try mint(request, now: now)
            } catch {
                throw DataError(path: "tokens[\(index)].\(error.path)", reason: error.reason)
            }
        }
    }

    func app(_ id: String) -> App? {
        apps.first { $0.id.utf8.elementsEqual(id.utf8) }
    }

    func person(_ key: String) -> Person? {
        people.first { $0.key.utf8.elementsEqual(key.utf8) }
    }

    /// The app of that id, or the first one.
    func requireApp(_ id: String?) throws(DataError) -> App {
        guard let app = id.map(app) ?? apps.first else {
            throw DataError(path: "app", reason: id.map { "no app \($0)" } ?? "there is no app")
        }
        return app
    }

    /// The person of that key, or the first one.
    func requirePerson(_ key: String?) throws(DataError) -> Person {
        guard let person = key.map(person) ?? people.first else {
            throw DataError(path: "person", reason: key.map { "no person \"\($0)\"" } ?? "there is no person")
        }
        return person
    }

    func token(_ text: String) -> Token? {
        guard text.utf8.count <= Self.maximumTokenLength, text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return tokens[text]
    }

    /// Finds a token by its name or, failing that, by its text.
    func token(namedOrTexted key: String) -> Token? {
        tokens.values.first { $0.name?.utf8.elementsEqual(key.utf8) ?? false } ?? token(key)
    }

    func removedField(_ name: String) -> RemovedField? {
        removedFields.first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    mutating func put(_ field: RemovedField) {
        _ = bringBack(field: field.name)
        removedFields.append(field)
    }

    /// Makes it a field again, or a name that nobody knows.
    ///
    /// Returns whether it was removed.
    mutating func bringBack(field name: String) -> Bool {
        guard let index = removedFields.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) else {
            return false
        }
        removedFields.remove(at: index)
        return true
    }

    mutating func put(_ app: App) {
        if let index = apps.firstIndex(where: { $0.id == app.id }) { apps[index] = app } else { apps.append(app) }
    }

    mutating func put(_ person: Person) {
        if let index = people.firstIndex(where: { $0.key == person.key }) {
            people[index] = person
        } else {
            people.append(person)
        }
    }

    mutating func put(_ token: Token) {
        tokens[token.text] = token
    }

    mutating func removeApp(_ id: String) -> Bool {
        guard let index = apps.firstIndex(where: { $0.id == id }) else { return false }
        apps.remove(at: index)
        return true
    }

    mutating func removePerson(_ key: String) -> Bool {
        guard let index = people.firstIndex(where: { $0.key == key }) else { return false }
        people.remove(at: index)
        return true
    }

    mutating func removeToken(_ text: String) -> Bool {
        tokens.removeValue(forKey: text) != nil
    }

    mutating func mint(_ request: TokenRequest, now: Int) throws(DataError) -> Token {
        let requested = try requireApp(request.app)
        let issuer = request.kind == .otherApp ? otherApp(than: requested) : requested
        let needsPerson = request.kind != .app
        let person = needsPerson ? try requirePerson(request.person) : nil
        let text = try text(for: request, issuer: issuer)
        var token = Token(
            text: text,
            name: request.name,
            kind: request.kind,
            app: issuer.id,
            person: person?.key,
            scopes: request.scopes.map { $0.contains("public_profile") ? $0 : $0 + ["public_profile"] },
            issuedAt: now,
            expiresAt: 0,
            dataAccessExpiresAt: needsPerson ? now + 90 * Self.day : 0,
            metadata: request.metadata,
            granularScopes: request.granularScopes
        )
        token.setLifetime(now: now)
        if token.kind == .page {
            token.profileID = Self.pageID
            token.scopes = token.scopes ?? ["pages_show_list", "public_profile"]
            token.granularScopes =
                token.granularScopes ?? [["scope": "pages_show_list", "target_ids": [.string(Self.pageID)]]]
        }
        token.expiresAt = request.expiresAt ?? token.expiresAt
        token.dataAccessExpiresAt = request.dataAccessExpiresAt ?? token.dataAccessExpiresAt
        tokens[text] = token
        return token
    }

    private mutating func text(for request: TokenRequest, issuer: App) throws(DataError) -> String {
        if let name = request.name, tokens.values.contains(where: { $0.name == name && $0.text != request.text }) {
            throw DataError(path: "name", reason: "\"\(name)\" is taken")
        }
        if let text = request.text {
            guard !text.isEmpty, text.utf8.count <= Self.maximumTokenLength,
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !text.utf8.contains(UInt8(ascii: "|"))
            else {
                throw DataError(
                    path: "text",
                    reason: "expected 1 to \(Self.maximumTokenLength) printable ASCII characters without \"|\""
                )
            }
            return text
        }
        switch (request.kind, request.name) {
        case (.app, _): return TokenText.app(issuer)
        case (.undecodable, _): return TokenText.garbage(using: &generator)
        case (_, let name?): return TokenText.user(named: "\(name)\n\(issuer.id)")
        case (_, nil): return TokenText.user(using: &generator)
        }
    }

    /// An app that is not this one: the first other app of the data, or else a stranger made for the purpose.
    private mutating func otherApp(than app: App) -> App {
        if let other = apps.first(where: { $0.id != app.id }) { return other }
        let stranger = App(
            id: "257422819769992",
            secret: "3c2ad81ba1a9e53f8a4fd24ac6a1a7bd",
            name: "Somebody else's app"
        )
        put(stranger)
        return stranger
    }
}

extension Token {
    /// Sets the times that the token's kind implies.
    fileprivate mutating func setLifetime(now: Int) {
        let hour = 3600
        let day = 86400
        switch kind {
        case .short, .page:
            expiresAt = (now + 2 * hour - 1) / hour * hour
        case .expired:
            issuedAt = now - 61 * day
            expiresAt = issuedAt + 60 * day
            dataAccessExpiresAt = issuedAt + 90 * day
        case .dataAccessExpired:
            issuedAt = now - 91 * day
            dataAccessExpiresAt = issuedAt + 90 * day
        case .never, .systemUser, .app, .passwordChanged: break
        case .long, .appRemoved, .invalidated, .loggedOut, .checkpointed, .unconfirmed, .malformed, .otherApp,
            .undecodable, .undecryptable, .debugOnly:
            expiresAt = now + 60 * day
        }
    }
}
