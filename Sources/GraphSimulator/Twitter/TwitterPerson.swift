import Crypto

extension GraphSimulator {
    /// Somebody with a Twitter account.
    public struct TwitterPerson: Sendable, Equatable {
        /// What tests and the control API call the person; also the screen name unless the fields have one.
        public var key: String
        /// The user id: decimal digits, the same for every consumer.
        ///
        /// Derived from the key unless it is named.
        public var id: String
        /// Members of the user object that differ from those of an empty account.
        ///
        /// `email` is among them when the account has one that is verified.
        public var fields: JSON
        /// What Twitter thinks of the account.
        public var state: State

        /// The states of an account.
        public enum State: String, Sendable, CaseIterable {
            case active
            case suspended
            case locked
        }

        /// Makes a person.
        public init(_ key: String, id: String? = nil, fields: JSON = [:], state: State = .active) {
            self.key = key
            self.id = id ?? Self.id(of: key)
            self.fields = fields
            self.state = state
        }

        private static func id(of key: String) -> String {
            let digest = SHA256.hash(data: Array("twitter\n\(key)".utf8))
            let number = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return String(1_000_000_000_000_000_000 + number % 900_000_000_000_000_000)
        }
    }
}

typealias TwitterPerson = GraphSimulator.TwitterPerson

extension TwitterPerson {
    init(json: JSON, path: String, key: String? = nil) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        let named = try reader.string("key")
        guard let key = key ?? named, (1...128).contains(key.utf8.count) else {
            throw reader.failure("key", "expected a name of 1 to 128 bytes")
        }
        let id = try reader.string("id")
        if let id {
            guard let number = Int(id), number > 0, String(number) == id else {
                throw reader.failure("id", "expected a positive decimal number, as a string")
            }
        }
        let word = try reader.string("state") ?? State.active.rawValue
        guard let state = State(rawValue: word) else {
            let states = State.allCases.map(\.rawValue).joined(separator: ", ")
            throw reader.failure("state", "expected one of \(states)")
        }
        let fields = try reader.object("fields") ?? []
        for name in ["id", "id_str"] where fields.contains(where: { $0.name == name }) {
            throw reader.failure("fields", "expected no \"\(name)\", which follows \"id\" beside them")
        }
        self.init(key, id: id, fields: .object(fields), state: state)
        try reader.finish()
    }

    var json: JSON {
        ["key": .string(key), "id": .string(id), "fields": fields, "state": .string(state.rawValue)]
    }

    /// The user object as `verify_credentials` gives it.
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
