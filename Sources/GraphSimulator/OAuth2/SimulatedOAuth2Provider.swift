extension GraphSimulator {
    /// A simulated provider of OAuth 2.0 without ID tokens, at `/oauth2/NAME`.
    public struct OAuth2Provider: Sendable, Equatable {
        /// The name, which is a segment of the provider's URLs.
        public var name: String
        /// The provider whose paths and forms this one has.
        public var style: OAuth2Style
        /// The clients, with their secrets.
        public var clients: [String: String]
        /// The user who logs in next by the dialog, an object in the provider's form.
        public var user: JSON
        /// Whether the user refuses the dialog.
        public var refuses = false

        /// Makes a provider, whose user has the id 1.
        public init(name: String, style: OAuth2Style, clients: [String: String] = [:]) {
            self.name = name
            self.style = style
            self.clients = clients
            user = style.defaultUser
        }
    }

    /// A provider whose paths and forms a simulated one has.
    public enum OAuth2Style: String, Sendable, CaseIterable {
        case github
        case discord
        case linkedin
    }
}

typealias OAuth2Provider = GraphSimulator.OAuth2Provider

extension GraphSimulator.OAuth2Style {
    fileprivate var defaultUser: JSON {
        switch self {
        case .github: ["id": 1, "login": "ann"]
        case .discord: ["id": "1", "username": "ann"]
        case .linkedin: ["sub": "1"]
        }
    }

    /// The lifetime of access tokens, in seconds; `nil` for tokens without end.
    var lifetime: Int? {
        switch self {
        case .github: nil
        case .discord: 604_800
        case .linkedin: 5_184_000
        }
    }

    /// The beginning of the texts of access tokens.
    var prefix: String {
        switch self {
        case .github: "gho_"
        case .discord: ""
        case .linkedin: "AQ"
        }
    }
}

extension OAuth2Provider {
    /// The beginning of the provider's paths, which also names the provider among the authorization servers.
    var server: String { "oauth2/\(name)" }
}

extension OAuth2Provider: Keyed {
    static var keyName: String { "name" }

    var key: String {
        get { name }
        set { name = newValue }
    }

    init(json: JSON, path: String, key: String?) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        let name = try reader.key("name", address: key)
        guard let style: GraphSimulator.OAuth2Style = try reader.word("style") else {
            throw reader.failure("style", "is missing")
        }
        self.init(name: name, style: style, clients: try reader.secrets("clients"))
        user = try reader.anObject("user") ?? user
        refuses = try reader.bool("refuses") ?? false
        try reader.finish()
    }

    var json: JSON {
        [
            "name": .string(name), "style": .string(style.rawValue), "clients": .secrets(clients), "user": user,
            "refuses": .bool(refuses),
        ]
    }
}
