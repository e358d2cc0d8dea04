import Encodings

/// An item that data files and the control API identify by a key.
protocol Keyed: Sendable {
    /// The name of the JSON member that contains the key.
    static var keyName: String { get }
    var key: String { get set }
    var json: JSON { get }

    /// Parses an item.
    ///
    /// If the JSON does not contain the item's key, `key` is this key, such as from the path of a control request.
    /// Otherwise `key` is `nil`.
    init(json: JSON, path: String, key: String?) throws(DataError)

    /// Throws an error if the item refers to another item that does not exist.
    func check(in world: World, path: String) throws(DataError)
}

extension Keyed {
    static var keyName: String { "key" }

    func check(in world: World, path: String) throws(DataError) {}
}

extension Array where Element: Keyed {
    /// Makes an array of the items in a data file.
    ///
    /// - Throws: ``DataError`` if two items have the same key.
    init(_ elements: [Element], path: String) throws(DataError) {
        self = []
        for (index, element) in elements.enumerated() {
            guard self[element.key] == nil else {
                let path = "\(path)[\(index)].\(Element.keyName)"
                throw DataError(path: path, reason: "\"\(element.key)\" appears twice")
            }
            append(element)
        }
    }

    /// The element with that key.
    ///
    /// Setting an element replaces or adds it, and setting `nil` removes it.
    subscript(key: String) -> Element? {
        get { first { $0.key.hasSameBytes(as: key) } }
        set {
            let index = firstIndex { $0.key.hasSameBytes(as: key) }
            switch (index, newValue) {
            case (let index?, let element?): self[index] = element
            case (let index?, nil): remove(at: index)
            case (nil, let element?): append(element)
            case (nil, nil): break
            }
        }
    }
}

/// The data of the simulated services: apps, users, tokens.
struct World: Sendable {
    var apps: [App]
    var people: [Person]
    /// The access tokens by their texts.
    ///
    /// Only ASCII texts of at most ``maximumTokenLength`` bytes are stored and looked up. So the hashing of a text is
    /// cheap, even if a client sends a very long one.
    var tokens: [String: Token] = [:]
    /// The authorization codes by their texts.
    ///
    /// Used codes are kept, since Graph has different errors for a used code and for an unknown one.
    var codes: [String: AuthorizationCode] = [:]
    var removedFields = RemovedField.known
    /// The keys that sign ID tokens.
    var keys: KeyRing
    /// The simulated Twitter.
    ///
    /// It shares the port with the simulated Facebook, but no data.
    var twitter: TwitterWorld
    /// The simulated issuers of OpenID Connect and providers of OAuth 2.0.
    ///
    /// Issuers that sign by RSA share Facebook's keys until their first rotation.
    var openID = OpenIDWorld()
    /// The simulated SMS gateway, which shares no data with Facebook and Twitter.
    var gateway: SMSGateway
    var generator = SplitMix64(seed: .random(in: .min ... .max))

    static let maximumTokenLength = 4096
    private static let day = 86400
    private static let pageID = "104518538110217"

    init(_ dataset: GraphSimulator.Dataset, now: Int) throws(DataError) {
        keys = try KeyRing.known()
        twitter = try TwitterWorld(dataset.twitter)
        gateway = try SMSGateway(secret: dataset.smsSecret)
        apps = try Array(dataset.apps, path: "apps")
        people = try Array(dataset.people, path: "people")
        for field in dataset.removedFields { removedFields[field.key] = field }
        for (index, person) in people.enumerated() { try person.check(in: self, path: "people[\(index)].") }
        for (index, request) in dataset.tokens.enumerated() {
            do {
                _ = try mint(request, now: now)
            } catch {
                throw DataError(path: "tokens[\(index)].\(error.path)", reason: error.reason)
            }
        }
    }

    /// Returns the app with the given id; the first app if the id is `nil`.
    ///
    /// - Throws: ``DataError`` if there is no such app.
    func requireApp(_ id: String?) throws(DataError) -> App {
        guard let app = id.map({ apps[$0] }) ?? apps.first else {
            throw DataError(path: "app", reason: id.map { "no app \($0)" } ?? "there is no app")
        }
        return app
    }

    /// Returns the user with the given key; the first user if the key is `nil`.
    ///
    /// - Throws: ``DataError`` if there is no such user.
    func requireUser(_ key: String?) throws(DataError) -> Person {
        guard let person = key.map({ people[$0] }) ?? people.first else {
            throw DataError(path: "person", reason: key.map { "no person \"\($0)\"" } ?? "there is no person")
        }
        return person
    }

    func token(_ text: String) -> Token? {
        guard text.utf8.count <= Self.maximumTokenLength, text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return tokens[text]
    }

    /// Returns the token with that name or, if there is none, with that text.
    func token(namedOrTexted key: String) -> Token? {
        tokens.values.first { $0.name?.hasSameBytes(as: key) ?? false } ?? token(key)
    }

    mutating func mint(_ request: TokenRequest, now: Int) throws(DataError) -> Token {
        let requested = try requireApp(request.app)
        let issuer = request.kind == .otherApp ? otherApp(than: requested) : requested
        let person = request.kind == .app ? nil : try requireUser(request.person)
        var token = Token(
            text: try text(for: request, issuer: issuer),
            name: request.name,
            kind: request.kind,
            app: issuer.id,
            person: person?.key,
            scopes: request.scopes.map { $0.contains("public_profile") ? $0 : $0 + ["public_profile"] },
            issuedAt: now,
            dataAccessExpiresAt: person == nil ? 0 : now + 90 * Self.day,
            metadata: request.metadata,
            granularScopes: request.granularScopes
        )
        switch token.kind {
        case .short, .page: token.expiresAt = (now + 2 * 3600 - 1) / 3600 * 3600
        case .expired:
            token.issuedAt = now - 61 * Self.day
            token.expiresAt = now - Self.day
            token.dataAccessExpiresAt = now + 29 * Self.day
        case .dataAccessExpired:
            token.issuedAt = now - 91 * Self.day
            token.dataAccessExpiresAt = now - Self.day
        case .never, .systemUser, .app, .passwordChanged: break
        case .long, .appRemoved, .invalidated, .loggedOut, .checkpointed, .unconfirmed, .malformed, .otherApp,
            .undecodable, .undecryptable, .debugOnly:
            token.expiresAt = now + 60 * Self.day
        }
        if token.kind == .page {
            token.profileID = Self.pageID
            token.scopes = token.scopes ?? ["pages_show_list", "public_profile"]
            token.granularScopes =
                token.granularScopes ?? [["scope": "pages_show_list", "target_ids": [.string(Self.pageID)]]]
        }
        token.expiresAt = request.expiresAt ?? token.expiresAt
        token.dataAccessExpiresAt = request.dataAccessExpiresAt ?? token.dataAccessExpiresAt
        tokens[token.text] = token
        return token
    }

    private mutating func text(for request: TokenRequest, issuer: App) throws(DataError) -> String {
        if let name = request.name, tokens.values.contains(where: { $0.name == name && $0.text != request.text }) {
            throw DataError(path: "name", reason: "\"\(name)\" is taken")
        }
        if let text = request.text {
            guard (1...Self.maximumTokenLength).contains(text.utf8.count),
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "|") })
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

    /// Returns the first app other than the given one.
    ///
    /// If there is no such app, this method adds one.
    private mutating func otherApp(than app: App) -> App {
        if let other = apps.first(where: { $0.id != app.id }) { return other }
        let stranger = App(
            id: "257422819769992",
            secret: "3c2ad81ba1a9e53f8a4fd24ac6a1a7bd",
            name: "Somebody else's app"
        )
        apps.append(stranger)
        return stranger
    }
}
