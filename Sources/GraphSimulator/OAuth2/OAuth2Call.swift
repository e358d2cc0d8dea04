import Encodings

/// A request to a simulated OAuth 2.0 provider, with what its handlers know.
struct OAuth2Call: Sendable {
    let request: GraphRequest
    let provider: OAuth2Provider
    let now: Int

    /// Returns the client whose id and secret the request has, in the form or by HTTP Basic; `nil` if they are wrong.
    func client(byForm: Bool, byBasic: Bool) -> String? {
        let form = request.parameter("client_id").flatMap { id in
            request.parameter("client_secret").map { (id: id, secret: $0) }
        }
        let candidate = (byBasic ? request.basicClient : nil) ?? (byForm ? form : nil)
        guard let candidate, provider.clients[candidate.id]?.hasSameBytes(as: candidate.secret) ?? false else {
            return nil
        }
        return candidate.id
    }

    /// Returns the client that authenticates by HTTP Basic or by the form.
    func authenticatedClient(byBasic: Bool) throws(OAuthError) -> String {
        guard let client = client(byForm: true, byBasic: byBasic) else {
            throw OAuthError("invalid_client", "Client authentication failed", status: 401)
        }
        return client
    }
}

extension OpenIDWorld {
    /// Returns the response of a provider at one of its paths.
    mutating func answer(_ call: OAuth2Call, at endpoint: String) throws(OAuthError) -> GraphReply {
        switch call.provider.style {
        case .github: try github(call, at: endpoint)
        case .discord: try discord(call, at: endpoint)
        case .linkedin: try linkedIn(call, at: endpoint)
        }
    }

    /// Answers a provider's dialog at once, for the user of the provider.
    ///
    /// `refusal` is what the client learns when the user refuses.
    mutating func dialog(
        _ call: OAuth2Call,
        responseType: String? = "code",
        refusal: [(name: String, value: String)]
    ) throws(OAuthError) -> GraphReply {
        let provider = call.provider
        let asked = try DialogParameters(call.request, clients: provider.clients, responseType: responseType)
        guard !provider.refuses else { return asked.callback(refusal) }
        let grant = grants.grant(
            to: asked.client,
            at: provider.server,
            user: provider.user,
            scopes: asked.scopes,
            isOfDialog: true
        )
        let code = grants.code(of: grant, redirectURI: asked.redirectURI, challenge: asked.challenge, now: call.now)
        return asked.callback([("code", code)])
    }

    /// Issues an access token with the provider's prefix and, unless `seconds` is given, the provider's lifetime.
    mutating func issueAccess(
        of grant: Grant,
        by provider: OAuth2Provider,
        seconds: Int? = nil,
        now: Int
    ) -> String {
        grants.issue(
            .access,
            of: grant,
            prefix: provider.style.prefix,
            seconds: seconds ?? provider.style.lifetime,
            now: now
        )
    }

    /// Makes an access token as the SDK of a provider has it in an app.
    ///
    /// The request is `{"provider", "client"?, "user"?, "scopes"?, "seconds"?}`. A negative number of seconds makes a
    /// token that has expired.
    mutating func providerToken(_ json: JSON, now: Int) throws(DataError) -> JSON {
        var reader = try JSONReader(json)
        let name = try reader.requiredString("provider")
        guard let provider = providers[name] else { throw reader.failure("provider", "there is no provider \(name)") }
        let grant = grants.grant(
            to: try reader.string("client") ?? provider.clients.keys.min() ?? "",
            at: provider.server,
            user: try reader.anObject("user") ?? provider.user,
            scopes: try reader.strings("scopes") ?? [],
            isOfDialog: false
        )
        let seconds = try reader.integer("seconds", in: .century)
        try reader.finish()
        return ["accessToken": .string(issueAccess(of: grant, by: provider, seconds: seconds, now: now))]
    }
}
