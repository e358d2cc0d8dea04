extension GraphSimulator {
    /// An access token of Twitter's: it does not expire, it is withdrawn.
    public struct TwitterToken: Sendable, Equatable {
        /// A name for tests and the control API.
        public var name: String?
        /// `oauth_token`.
        public let text: String
        /// `oauth_token_secret`.
        public let secret: String
        /// The key of the consumer that it was made for.
        public let consumer: String
        /// The key of the person whose it is.
        public let person: String
        /// Whether the person has withdrawn it.
        public var revoked: Bool
    }

    /// What a token of Twitter's shall be.
    public struct TwitterTokenRequest: Sendable {
        /// The consumer's key; the first one unless named.
        public var consumer: String?
        /// The person's key; the first one unless named.
        public var person: String?
        /// A name for the token; one with a name has the same texts after each start.
        public var name: String?
        /// Whether it is withdrawn already.
        public var revoked: Bool

        /// Makes a wish.
        public init(
            person: String? = nil,
            consumer: String? = nil,
            name: String? = nil,
            revoked: Bool = false
        ) {
            self.person = person
            self.consumer = consumer
            self.name = name
            self.revoked = revoked
        }
    }
}

typealias TwitterToken = GraphSimulator.TwitterToken
typealias TwitterTokenRequest = GraphSimulator.TwitterTokenRequest

extension TwitterTokenRequest {
    init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init(
            person: try reader.string("person"),
            consumer: try reader.string("consumer"),
            name: try reader.string("name"),
            revoked: try reader.bool("revoked") ?? false
        )
        try reader.finish()
    }
}

extension TwitterToken {
    var json: JSON {
        var json: JSON = [
            "token": .string(text), "secret": .string(secret), "consumer": .string(consumer), "person": .string(person),
            "revoked": .bool(revoked),
        ]
        json["name"] = name.map { .string($0) }
        return json
    }

    mutating func apply(_ json: JSON) throws(DataError) {
        var reader = try JSONReader(json, path: "")
        revoked = try reader.bool("revoked") ?? revoked
        try reader.finish()
    }
}
