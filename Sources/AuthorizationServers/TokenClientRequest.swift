import Curl
import Domain
import Encodings
import Providers

/// The request of an access token's check.
struct TokenClientRequest: Sendable {
    let method: HTTPRequest.Method
    let url: HTTPURL
    let authorization: String?
    let body: [UInt8]?
    let type: String?
    /// Whether the request has the client's credentials, and not the user's token alone.
    let authenticatesClient: Bool

    /// Makes the request.
    ///
    /// - Throws: `provider_misconfigured` if the address is none, or if the check needs a secret that the client lacks.
    init(
        _ token: Secret,
        _ check: TokenClientCheck,
        _ client: ClientCredentials,
        of service: UpstreamService
    ) throws(Failure) {
        authenticatesClient = check.form.authenticatesClient
        let address = check.url.replacing("{clientId}", with: PercentEncoding.encode(client.id.text))
        switch check.form {
        case .bearer:
            method = .get
            authorization = "Bearer \(token.reveal())"
            (body, type) = (nil, nil)
            url = try ServerAddress.url(address, of: service)
        case .query:
            var query = Parameters()
            query.add("access_token", token.reveal())
            method = .get
            (authorization, body, type) = (nil, nil, nil)
            url = try ServerAddress.url(ServerAddress.url(address, of: service).adding(query: query.text), of: service)
        case .introspection:
            guard client.hasSecret else { throw Self.noSecret(of: service) }
            var form = Parameters()
            form.add("token", token.reveal())
            form.add("token_type_hint", "access_token")
            method = .post
            authorization = client.authenticate(&form)
            (body, type) = (form.bytes, nil)
            url = try ServerAddress.url(address, of: service)
        case .json:
            guard let credentials = client.authorization else { throw Self.noSecret(of: service) }
            var writer = JSONWriter()
            writer.value(.object(["access_token": .string(token.reveal())]))
            method = .post
            (authorization, body, type) = (credentials, writer.bytes, "application/json")
            url = try ServerAddress.url(address, of: service)
        }
    }

    private static func noSecret(of service: UpstreamService) -> Failure {
        .unusableConfiguration(cause: "\(service.api): the check of an access token needs a client with a secret")
    }
}
