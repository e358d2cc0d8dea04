extension GraphSimulator {
    /// The kind of a token.
    ///
    /// The kind decides whether a token is valid, and which error an invalid token causes.
    public enum TokenKind: String, Sendable, CaseIterable {
        /// Valid user tokens: `short` expires on a whole hour after one to two hours, `long` after 60 days, and `never`
        /// not at all.
        case short, long, never
        /// User tokens whose session is invalid.
        ///
        /// The error subcodes are 463 (expired after 60 days), 460 (password changed), 458 (app removed), 466
        /// (invalidated by an API call) and 467 (logged out).
        case expired, passwordChanged, appRemoved, invalidated, loggedOut
        /// User tokens that are refused until the user acts at Facebook.
        ///
        /// For `checkpointed`, the user must log in at facebook.com (subcode 459). For `unconfirmed`, the user must
        /// confirm the account (464).
        case checkpointed, unconfirmed
        /// A token that contains a malformed session (code 190 without subcode).
        case malformed
        /// A valid user token that was issued to an app other than the one in the request to mint the token.
        case otherApp
        /// Valid tokens of a page, an app and a system user.
        ///
        /// The app's token is that of `client_credentials`.
        case page, app, systemUser
        /// A valid user token whose 90 days of data access have expired.
        case dataAccessExpired
        /// Two invalid texts: one that Graph cannot parse, and an `EAA…` text that Graph cannot decrypt.
        case undecodable, undecryptable
        /// A session-info token, which only a debugger can use.
        case debugOnly
    }

    /// A token and the data that Graph has about it.
    ///
    /// Times are Unix seconds.
    public struct Token: Sendable, Equatable {
        /// The text that clients send.
        public var text: String
        /// The name from the data file, or from the request by which the token was minted.
        public var name: String?
        /// The kind of the token.
        public var kind: TokenKind
        /// The id of the app for which the token was issued.
        public var app: String
        /// The user to whom the token belongs, by the key in the simulator's data; `nil` for app tokens.
        public var person: String?
        /// The permissions of the token.
        ///
        /// `nil` stands for the permissions that the user has granted at the time of a request.
        public var scopes: [String]?
        /// The time when the token was issued, in Unix seconds.
        public var issuedAt = 0
        /// The expiry of the token, in Unix seconds; 0 if the token never expires.
        public var expiresAt = 0
        /// The Unix second from which the token can read only the public profile; 0 for never.
        public var dataAccessExpiresAt = 0
        /// The id of the page, for a page token.
        public var profileID: String?
        /// The member `metadata` of what `debug_token` returns about the token, if any.
        public var metadata: JSON?
        /// The member `granular_scopes` of what `debug_token` returns about the token, if any.
        public var granularScopes: JSON?
    }

    /// The parameters of a token to mint (``GraphSimulator/GraphSimulator/mint(_:)``).
    public struct TokenRequest: Sendable, Equatable {
        /// The kind of the token.
        public var kind: TokenKind
        /// The user, by the key in the simulator's data, such as `ann`; the first user when `nil`.
        public var person: String?
        /// The app's id; the first app when `nil`.
        public var app: String?
        /// The token's permissions, to which `public_profile` is added; `nil` for those that the user has granted.
        public var scopes: [String]?
        /// The token's name in the control API.
        public var name: String?
        /// The exact text; `nil` for a generated one.
        public var text: String?
        /// The expiry of the token, in Unix seconds; `nil` for the default of the token's kind.
        public var expiresAt: Int?
        /// The Unix second from which the token can read only the public profile.
        ///
        /// `nil` stands for the default of the token's kind.
        public var dataAccessExpiresAt: Int?
        /// The member `metadata` of what `debug_token` returns about the token, if any.
        public var metadata: JSON?
        /// The member `granular_scopes` of what `debug_token` returns about the token, if any.
        public var granularScopes: JSON?

        /// Stores the parameters of a token to mint.
        public init(
            _ kind: TokenKind = .long,
            person: String? = nil,
            app: String? = nil,
            scopes: [String]? = nil,
            name: String? = nil,
            text: String? = nil
        ) {
            self.kind = kind
            self.person = person
            self.app = app
            self.scopes = scopes
            self.name = name
            self.text = text
        }
    }
}

typealias TokenKind = GraphSimulator.TokenKind
typealias Token = GraphSimulator.Token
typealias TokenRequest = GraphSimulator.TokenRequest

extension TokenRequest {
    init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init(
            try reader.word("kind") ?? .long,
            person: try reader.string("person"),
            app: try reader.string("app"),
            scopes: try reader.strings("scopes"),
            name: try reader.string("name"),
            text: try reader.string("text")
        )
        expiresAt = try reader.integer("expiresAt", in: 0...Int.max)
        dataAccessExpiresAt = try reader.integer("dataAccessExpiresAt", in: 0...Int.max)
        metadata = try reader.members("metadata").map { .object($0) }
        granularScopes = reader.value("granularScopes")
        try reader.finish()
    }
}

extension Token {
    var json: JSON {
        var json: JSON = ["token": .string(text), "kind": .string(kind.rawValue), "app": .string(app)]
        json["name"] = name.map { .string($0) }
        json["person"] = person.map { .string($0) }
        json["scopes"] = scopes.map(JSON.strings)
        json["issuedAt"] = .integer(issuedAt)
        json["expiresAt"] = .integer(expiresAt)
        json["dataAccessExpiresAt"] = .integer(dataAccessExpiresAt)
        json["profileId"] = profileID.map { .string($0) }
        json["metadata"] = metadata
        json["granularScopes"] = granularScopes
        return json
    }

    /// Changes those members of this token that the JSON of a control request contains.
    mutating func apply(_ json: JSON) throws(DataError) {
        var reader = try JSONReader(json)
        kind = try reader.word("kind") ?? kind
        scopes = try reader.strings("scopes") ?? scopes
        expiresAt = try reader.integer("expiresAt", in: 0...Int.max) ?? expiresAt
        dataAccessExpiresAt = try reader.integer("dataAccessExpiresAt", in: 0...Int.max) ?? dataAccessExpiresAt
        try reader.finish()
    }
}
