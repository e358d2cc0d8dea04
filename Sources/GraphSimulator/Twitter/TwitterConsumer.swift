extension GraphSimulator {
    /// An app at Twitter, which calls it a consumer.
    public struct TwitterConsumer: Sendable, Equatable {
        /// The consumer key.
        public var key: String
        /// The consumer secret.
        public var secret: String
        /// Whether it may read e-mail addresses.
        public var email: Bool
        /// Whether it may use API 1.1; one that may not gets 453.
        public var access: Bool
        /// Whether Twitter has suspended it.
        public var suspended: Bool
        /// The callbacks that it has registered; empty allows every one.
        public var callbacks: [String]

        /// Makes a consumer that may do everything.
        public init(
            key: String,
            secret: String,
            email: Bool = true,
            access: Bool = true,
            suspended: Bool = false,
            callbacks: [String] = []
        ) {
            self.key = key
            self.secret = secret
            self.email = email
            self.access = access
            self.suspended = suspended
            self.callbacks = callbacks
        }
    }
}

typealias TwitterConsumer = GraphSimulator.TwitterConsumer

extension TwitterConsumer {
    init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init(
            key: try reader.requiredString("key"),
            secret: try reader.requiredString("secret"),
            email: try reader.bool("email") ?? true,
            access: try reader.bool("access") ?? true,
            suspended: try reader.bool("suspended") ?? false,
            callbacks: try reader.strings("callbacks") ?? []
        )
        try reader.finish()
    }

    var json: JSON {
        [
            "key": .string(key), "secret": .string(secret), "email": .bool(email), "access": .bool(access),
            "suspended": .bool(suspended), "callbacks": .array(callbacks.map { .string($0) }),
        ]
    }
}
