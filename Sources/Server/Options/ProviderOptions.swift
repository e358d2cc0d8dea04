import ArgumentParser
import Federation
import Identity

/// What an operator decides about logins with Facebook, as options.
struct ProviderOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The version of the Graph API, like v25.0.", valueName: "version"))
    var graphVersion: String?

    @Option(help: "The form of appsecret_proof.")
    var proof: ProofForm?

    @Option(help: "What the nonce of an ID token must be; off is for the tokens that iOS SDK 18.1 refreshes.")
    var nonce: NoncePolicy?

    @Option(
        help: ArgumentHelp("How long after its issue an ID token is taken, like 10m; 1h at most.", valueName: "time")
    )
    var idTokenLifetime: Lifetime?

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp("A redirect URI that codes of clients may come with; once for each.", valueName: "url")
    )
    var redirectURIs: [String] = []

    @Option(
        name: .customLong("return-url"),
        help: ArgumentHelp(
            "Where a browser may go after a login through the server; once for each, the usual one first.",
            valueName: "url"
        )
    )
    var returnURLs: [String] = []

    @Option(
        name: .customLong("permission"),
        help: ArgumentHelp("A permission that the login dialog asks for; once for each.", valueName: "name")
    )
    var permissions: [String] = []

    @Flag(inversion: .prefixedNo, help: "The provider token of the last login is kept, encrypted.")
    var keepTokens: Bool?

    @Flag(inversion: .prefixedNo, help: "A kept token is exchanged for one that lives some 60 days.")
    var longLivedTokens: Bool?

    @Flag(inversion: .prefixedNo, help: "Clients may have the kept token of their user back.")
    var returnTokens: Bool?

    @Flag(inversion: .prefixedNo, help: "Sessions end when Facebook says that their identity is revoked.")
    var endSessionsWhenRevoked: Bool?

    @Option(help: ArgumentHelp("Read the profiles of kept tokens again after so many hours.", valueName: "count"))
    var refreshHours: Int64?

    @Option(
        help: ArgumentHelp("Days from a request for deletion to the erasure; 0 erases at once.", valueName: "count")
    )
    var eraseAfterDays: Int64?

    @Option(help: ArgumentHelp("The text that Facebook repeats when it sets up the webhook.", valueName: "text"))
    var webhookVerifyToken: String?

    @Option(
        name: .customLong("default"),
        help: ArgumentHelp("Give one of these its default again, by its name in documents.", valueName: "option")
    )
    var defaults: [FacebookOptionsDocument.Name] = []

    /// The members of the provider's settings that were given, `null` for those that return to their default.
    var members: [JSONObject.Member] {
        let given = FacebookOptionsDocument.Name.allCases.compactMap { name in
            value(of: name).map { JSONObject.Member(name.rawValue, $0) }
        }
        return given + defaults.map { JSONObject.Member($0.rawValue, .null) }
    }

    func validate() throws {
        if let name = defaults.first(where: { value(of: $0) != nil }) {
            throw ValidationError("\(name.rawValue) is given a value and its default.")
        }
    }

    private func value(of name: FacebookOptionsDocument.Name) -> JSONValue? {
        switch name {
        case .graphVersion: graphVersion.map(JSONValue.string)
        case .proof: proof.map { .string($0.rawValue) }
        case .nonce: nonce.map { .string($0.rawValue) }
        case .idTokenSeconds: idTokenLifetime.map { .integer($0.seconds) }
        case .redirectURIs: Self.list(redirectURIs)
        case .returnURLs: Self.list(returnURLs)
        case .permissions: Self.list(permissions)
        case .keepTokens: keepTokens.map(JSONValue.bool)
        case .longLivedTokens: longLivedTokens.map(JSONValue.bool)
        case .returnTokens: returnTokens.map(JSONValue.bool)
        case .endSessionsWhenRevoked: endSessionsWhenRevoked.map(JSONValue.bool)
        case .refreshHours: refreshHours.map(JSONValue.integer)
        case .eraseAfterDays: eraseAfterDays.map(JSONValue.integer)
        case .webhookVerifyToken: webhookVerifyToken.map(JSONValue.string)
        }
    }

    private static func list(_ texts: [String]) -> JSONValue? {
        texts.isEmpty ? nil : .array(texts.map(JSONValue.string))
    }
}
