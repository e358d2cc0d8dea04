extension GraphSimulator {
    /// What a token is worth.
    public enum TokenKind: String, Sendable, CaseIterable {
        /// A user token of one to two hours, ending on a whole hour.
        case short
        /// A user token of 60 days.
        case long
        /// A user token without an end.
        case never
        /// A user token whose 60 days are over (463).
        case expired
        /// The user changed their password (460).
        case passwordChanged
        /// The user removed the app (458).
        case appRemoved
        /// Invalidated by an API call (466).
        case invalidated
        /// The user logged out (467).
        case loggedOut
        /// The user must first act at facebook.com (459).
        case checkpointed
        /// The user never confirmed the account (464).
        case unconfirmed
        /// The session inside the token is malformed (190 without subcode).
        case malformed
        /// A good user token of an app other than the one asked for.
        case otherApp
        /// A page token.
        case page
        /// An app token as `client_credentials` gives it: `id|27 characters`.
        case app
        /// A system user's token.
        case systemUser
        /// A good user token whose 90 days of data access are over.
        case dataAccessExpired
        /// Text that Graph cannot parse.
        case undecodable
        /// An `EAA…` text that Graph cannot decrypt.
        case undecryptable
        /// A session-info token, good for nothing but a debugger.
        case debugOnly
    }

    /// A token and what Graph knows about it.
    ///
    /// Times are Unix seconds.
    public struct Token: Sendable, Equatable {
        /// The text that clients send.
        public var text: String
        /// The name given in the data file or when it was minted.
        public var name: String?
        /// What it is worth.
        public var kind: TokenKind
        /// The id of the app that it was issued for.
        public var app: String
        /// The key of its person; `nil` for app tokens.
        public var person: String?
        /// The permissions that it was issued with; `nil` follows what the person grants at the moment of the call.
        public var scopes: [String]?
        /// When it was issued.
        public var issuedAt: Int
        /// When it ends; 0 is never.
        public var expiresAt: Int
        /// When gated profile fields stop being readable; 0 is never.
        public var dataAccessExpiresAt: Int
        /// The page of a page token.
        public var profileID: String?
        /// `metadata` of `debug_token`, if any.
        public var metadata: JSON?
        /// `granular_scopes` of `debug_token`, if any.
        public var granularScopes: JSON?
    }

    /// The wish for a token; see ``GraphSimulator/GraphSimulator/mint(_:)``.
    public struct TokenRequest: Sendable, Equatable {
        /// What it is worth.
        public var kind: TokenKind
        /// The person's key; the first person when `nil`.
        public var person: String?
        /// The app's id; the first app when `nil`.
        public var app: String?
        /// The token's permissions (`public_profile` is added); `nil` follows the person.
        public var scopes: [String]?
        /// A name to find it by in the control API.
        public var name: String?
        /// The exact text; made up when `nil`.
        public var text: String?
        /// Overrides the kind's own end, in Unix seconds.
        public var expiresAt: Int?
        /// Overrides the kind's own end of data access, in Unix seconds.
        public var dataAccessExpiresAt: Int?
        /// `metadata` of `debug_token`, if it is to have one.
        public var metadata: JSON?
        /// `granular_scopes` of `debug_token`, if it is to have them.
        public var granularScopes: JSON?

        /// Makes a wish.
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
        let kind = try reader.string("kind") ?? TokenKind.long.rawValue
        guard let kind = TokenKind(rawValue: kind) else {
            let kinds = TokenKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw reader.failure("kind", "expected one of \(kinds)")
        }
        self.init(
            kind,
            person: try reader.string("person"),
            app: try reader.string("app"),
            scopes: try reader.strings("scopes"),
            name: try reader.string("name"),
            text: try reader.string("text")
        )
        expiresAt = try reader.integer("expiresAt", in: 0...Int.max)
        dataAccessExpiresAt = try reader.integer("dataAccessExpiresAt", in: 0...Int.max)
        metadata = try reader.object("metadata").map { .object($0) }
        granularScopes = reader.value("granularScopes")
        try reader.finish()
    }
}

extension Token {
    var json: JSON {
        var json: JSON = ["token": .string(text), "kind": .string(kind.rawValue), "app": .string(app)]
        json["name"] = name.map { .string($0) }
        json["person"] = person.map { .string($0) }
        json["scopes"] = scopes.map { .array($0.map { .string($0) }) }
        json["issuedAt"] = .integer(issuedAt)
        json["expiresAt"] = .integer(expiresAt)
        json["dataAccessExpiresAt"] = .integer(dataAccessExpiresAt)
        json["profileId"] = profileID.map { .string($0) }
        json["metadata"] = metadata
        json["granularScopes"] = granularScopes
        return json
    }
}
