import Crypto

extension GraphSimulator {
    /// The Twitter consumers, users and tokens with which a simulator starts.
    ///
    /// The first consumer and the first user are the defaults for new tokens.
    public struct TwitterDataset: Sendable {
        /// The Twitter apps, which Twitter calls consumers.
        public var consumers: [TwitterConsumer]
        /// The users.
        public var people: [TwitterPerson]
        /// The tokens to mint at the start.
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

    /// An app at Twitter.
    ///
    /// Twitter calls an app a consumer.
    public struct TwitterConsumer: Sendable, Equatable {
        /// The consumer key.
        public var key: String
        /// The consumer secret.
        public var secret: String
        /// Whether the consumer may read e-mail addresses.
        public var email = true
        /// Whether the consumer may use version 1.1 of the API.
        ///
        /// If not, its requests get error 453.
        public var access = true
        /// Whether Twitter has suspended the consumer.
        public var suspended = false
        /// The registered callback URLs.
        ///
        /// An empty list allows every URL.
        public var callbacks: [String]

        /// Makes a consumer that may do everything.
        public init(key: String, secret: String, callbacks: [String] = []) {
            self.key = key
            self.secret = secret
            self.callbacks = callbacks
        }
    }

    /// A user with a Twitter account.
    public struct TwitterPerson: Sendable, Equatable {
        /// The key that identifies the user in tests and in control requests, such as `ann`.
        ///
        /// It is also the screen name, unless the fields contain one.
        public var key: String
        /// The user id: decimal digits, the same for every consumer.
        ///
        /// If no id is given, it is derived from the key.
        public var id: String
        /// The members of the Twitter user object in which this user differs from a new account.
        ///
        /// An `email` here is a verified address.
        public var fields: JSON
        /// The state of the account.
        public var state: State

        /// The states of an account.
        public enum State: String, Sendable, CaseIterable {
            case active
            case suspended
            case locked
        }

        /// Makes a user.
        public init(_ key: String, id: String? = nil, fields: JSON = [:], state: State = .active) {
            self.key = key
            self.fields = fields
            self.state = state
            let number = SHA256.number(of: "twitter\n\(key)")
            self.id = id ?? String(1_000_000_000_000_000_000 + number % 900_000_000_000_000_000)
        }
    }

    /// A Twitter access token.
    ///
    /// It does not expire, and can be revoked.
    public struct TwitterToken: Sendable, Equatable {
        /// The name by which tests and control requests find the token.
        public var name: String?
        /// The token itself, which OAuth 1.0a calls `oauth_token`.
        public let text: String
        /// The secret that belongs to the token, which OAuth 1.0a calls `oauth_token_secret`.
        public let secret: String
        /// The key of the consumer to which the token was issued.
        public let consumer: String
        /// The key of the user to whom the token was issued, such as `ann`.
        public let person: String
        /// Whether the user has revoked the token.
        public var revoked: Bool
    }

    /// The parameters of a Twitter token to mint.
    public struct TwitterTokenRequest: Sendable {
        /// The key of the user, such as `ann`; `nil` for the first user.
        public var person: String?
        /// The consumer's key; the first consumer when `nil`.
        public var consumer: String?
        /// The name by which tests and control requests find the token.
        ///
        /// A token with a name has the same text and the same secret after each start of the simulator.
        public var name: String?
        /// Whether the token is revoked from the start.
        public var revoked = false

        /// Stores the parameters of a Twitter token to mint.
        public init(person: String? = nil, consumer: String? = nil, name: String? = nil) {
            self.person = person
            self.consumer = consumer
            self.name = name
        }
    }
}

typealias TwitterDataset = GraphSimulator.TwitterDataset
typealias TwitterConsumer = GraphSimulator.TwitterConsumer
typealias TwitterPerson = GraphSimulator.TwitterPerson
typealias TwitterToken = GraphSimulator.TwitterToken
typealias TwitterTokenRequest = GraphSimulator.TwitterTokenRequest

extension TwitterDataset {
    init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init(
            consumers: try reader.items("consumers"),
            people: try reader.items("people"),
            tokens: try reader.list("tokens", TwitterTokenRequest.init)
        )
        try reader.finish()
    }
}

extension TwitterConsumer: Keyed {
    init(json: JSON, path: String, key: String?) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init(
            key: try reader.key("key", address: key),
            secret: try reader.requiredString("secret"),
            callbacks: try reader.strings("callbacks") ?? []
        )
        email = try reader.bool("email") ?? true
        access = try reader.bool("access") ?? true
        suspended = try reader.bool("suspended") ?? false
        try reader.finish()
    }

    var json: JSON {
        [
            "key": .string(key), "secret": .string(secret), "email": .bool(email), "access": .bool(access),
            "suspended": .bool(suspended), "callbacks": .strings(callbacks),
        ]
    }
}

extension TwitterPerson: Keyed {
    init(json: JSON, path: String, key: String?) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        let id = try reader.string("id")
        if let id {
            guard let number = Int(id), number > 0, String(number) == id else {
                throw reader.failure("id", "expected a positive decimal number, as a string")
            }
        }
        let fields = try reader.members("fields") ?? []
        for name in ["id", "id_str"] where fields.contains(where: { $0.name == name }) {
            throw reader.failure("fields", "expected no \"\(name)\", which follows \"id\" beside them")
        }
        self.init(
            try reader.key("key", address: key),
            id: id,
            fields: .object(fields),
            state: try reader.word("state") ?? .active
        )
        try reader.finish()
    }

    var json: JSON {
        ["key": .string(key), "id": .string(id), "fields": fields, "state": .string(state.rawValue)]
    }

    /// Returns the Twitter user object of this user, as `verify_credentials` returns it.
    func user(email: Bool, status: Bool, entities: Bool) -> JSON {
        var user: JSON = [
            "id": .integer(Int(id) ?? 0), "id_str": .string(id), "name": .string(key), "screen_name": .string(key),
            "location": "", "description": "", "url": nil, "protected": false, "followers_count": 0,
            "friends_count": 0, "listed_count": 0, "created_at": "Tue Mar 21 20:50:14 +0000 2006",
            "favourites_count": 0, "utc_offset": nil, "time_zone": nil, "geo_enabled": false, "verified": false,
            "statuses_count": 0, "lang": nil, "contributors_enabled": false, "is_translator": false,
            "profile_image_url_https":
                "https://abs.twimg.com/sticky/default_profile_images/default_profile_normal.png",
            "default_profile": true, "default_profile_image": true, "following": false, "suspended": false,
            "needs_phone_verification": false,
        ]
        if entities { user["entities"] = ["description": ["urls": []]] }
        if status { user["status"] = ["id_str": "20", "text": "just setting up my twttr"] }
        for member in fields.members ?? [] where member.name != "email" { user[member.name] = member.value }
        if email { user["email"] = fields["email"] ?? .null }
        return user
    }
}

extension TwitterTokenRequest {
    init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init(
            person: try reader.string("person"),
            consumer: try reader.string("consumer"),
            name: try reader.string("name")
        )
        revoked = try reader.bool("revoked") ?? false
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
}
