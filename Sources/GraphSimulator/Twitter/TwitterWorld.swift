import Crypto

extension GraphSimulator {
    /// The consumers, people and tokens of Twitter that a simulator starts with; the first of each is the default.
    public struct TwitterDataset: Sendable {
        /// The apps.
        public var consumers: [TwitterConsumer]
        /// The people.
        public var people: [TwitterPerson]
        /// The tokens to make at the start.
        public var tokens: [TwitterTokenRequest]

        /// Makes a dataset.
        public init(
            consumers: [TwitterConsumer] = [],
            people: [TwitterPerson] = [],
            tokens: [TwitterTokenRequest] = []
        ) {
            self.consumers = consumers
            self.people = people
            self.tokens = tokens
        }
    }
}

extension GraphSimulator.TwitterDataset {
    init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init()
        for (index, entry) in try reader.list("consumers").enumerated() {
            consumers.append(try TwitterConsumer(json: entry, path: "\(path).consumers[\(index)]"))
        }
        for (index, entry) in try reader.list("people").enumerated() {
            people.append(try TwitterPerson(json: entry, path: "\(path).people[\(index)]"))
        }
        for (index, entry) in try reader.list("tokens").enumerated() {
            tokens.append(try TwitterTokenRequest(json: entry, path: "\(path).tokens[\(index)]"))
        }
        try reader.finish()
    }
}

/// Everything that exists at Twitter.
struct TwitterWorld: Sendable {
    private(set) var consumers: [TwitterConsumer] = []
    private(set) var people: [TwitterPerson] = []
    private(set) var tokens: [TwitterToken] = []
    /// The requests that were signed well within the window of timestamps; none is taken twice.
    private var seen: Set<UsedNonce> = []

    /// What makes a signed request the one that it is (RFC 5849 §3.3).
    struct UsedNonce: Hashable, Sendable {
        let consumer: String
        let token: String
        let timestamp: Int
        let nonce: String
    }

    init() {}

    init(_ dataset: GraphSimulator.TwitterDataset) throws(DataError) {
        for (index, consumer) in dataset.consumers.enumerated() {
            guard self.consumer(consumer.key) == nil else {
                let reason = "the consumer \(consumer.key) appears twice"
                throw DataError(path: "twitter.consumers[\(index)].key", reason: reason)
            }
            put(consumer)
        }
        for (index, person) in dataset.people.enumerated() {
            guard self.person(person.key) == nil else {
                throw DataError(path: "twitter.people[\(index)].key", reason: "\"\(person.key)\" appears twice")
            }
            put(person)
        }
        for (index, request) in dataset.tokens.enumerated() {
            do {
                _ = try mint(request)
            } catch {
                throw DataError(path: "twitter.tokens[\(index)].\(error.path)", reason: error.reason)
            }
        }
    }

    func consumer(_ key: String) -> TwitterConsumer? {
        consumers.first { $0.key.utf8.elementsEqual(key.utf8) }
    }

    func person(_ key: String) -> TwitterPerson? {
        people.first { $0.key.utf8.elementsEqual(key.utf8) }
    }

    func token(_ text: String) -> TwitterToken? {
        tokens.first { $0.text.utf8.elementsEqual(text.utf8) }
    }

    /// Finds a token by its name or, failing that, by its text.
    func token(namedOrTexted key: String) -> TwitterToken? {
        tokens.first { $0.name?.utf8.elementsEqual(key.utf8) ?? false } ?? token(key)
    }

    mutating func put(_ consumer: TwitterConsumer) {
        if let index = consumers.firstIndex(where: { $0.key == consumer.key }) {
            consumers[index] = consumer
        } else {
            consumers.append(consumer)
        }
    }

    mutating func put(_ person: TwitterPerson) {
        if let index = people.firstIndex(where: { $0.key == person.key }) {
            people[index] = person
        } else {
            people.append(person)
        }
    }

    mutating func put(_ token: TwitterToken) {
        if let index = tokens.firstIndex(where: { $0.text == token.text }) {
            tokens[index] = token
        } else {
            tokens.append(token)
        }
    }

    mutating func removeConsumer(_ key: String) -> Bool {
        guard consumer(key) != nil else { return false }
        consumers.removeAll { $0.key == key }
        return true
    }

    mutating func removePerson(_ key: String) -> Bool {
        guard person(key) != nil else { return false }
        people.removeAll { $0.key == key }
        return true
    }

    mutating func removeToken(_ text: String) {
        tokens.removeAll { $0.text == text }
    }

    mutating func mint(_ request: TwitterTokenRequest) throws(DataError) -> TwitterToken {
        guard let consumer = request.consumer.map(consumer) ?? consumers.first else {
            throw DataError(path: "consumer", reason: request.consumer.map { "no consumer \($0)" } ?? "there is none")
        }
        guard let person = request.person.map(person) ?? people.first else {
            throw DataError(path: "person", reason: request.person.map { "no person \"\($0)\"" } ?? "there is none")
        }
        if let name = request.name, tokens.contains(where: { $0.name == name }) {
            throw DataError(path: "name", reason: "\"\(name)\" is taken")
        }
        let seed = request.name.map { "\($0)\n\(consumer.key)" }
        let token = TwitterToken(
            name: request.name,
            text: person.id + "-" + Self.text(seed, "token"),
            secret: Self.text(seed, "secret"),
            consumer: consumer.key,
            person: person.key,
            revoked: request.revoked
        )
        put(token)
        return token
    }

    /// Remembers a signed request; false when it was made before.
    mutating func isFirst(_ nonce: UsedNonce) -> Bool {
        seen.insert(nonce).inserted
    }

    /// A text of 40 digits, the same for the same seed.
    static func text(_ seed: String?, _ purpose: String) -> String {
        guard let seed else {
            return Hexadecimal.encode((0..<20).map { _ in UInt8.random(in: .min ... .max) })
        }
        return Hexadecimal.encode(SHA256.hash(data: Array("twitter \(purpose)\n\(seed)".utf8)).prefix(20))
    }
}
