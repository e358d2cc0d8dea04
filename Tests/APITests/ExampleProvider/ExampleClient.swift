import Curl
import Domain
import Encodings
import Providers

/// A client of Example's token introspection (RFC 7662), which returns the subject of an access token.
struct ExampleClient: Sendable {
    private let curl: CurlClient
    private let endpoint: HTTPURL

    private static let service = UpstreamService(name: "Example", api: "Example")

    init(endpoint: String) throws(CurlError) {
        curl = try CurlClient()
        self.endpoint = try HTTPURL(endpoint)
    }

    func introspect(
        _ token: Secret,
        as app: ProviderApp,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> JSONObject {
        let form = [("client_id", app.id.text), ("client_secret", app.secret.reveal()), ("token", token.reveal())]
            .map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        let reply: HTTPReply
        do throws(CurlError) {
            let request = try HTTPRequest(
                method: .post,
                url: endpoint,
                body: Array(form.utf8),
                timeout: deadline - .now,
                connectTimeout: deadline - .now,
                maxReplyBytes: 65_536
            )
            reply = try await curl.send(request)
        } catch {
            throw ProviderFault(error, of: Self.service).failure
        }
        guard reply.status != 401 else {
            throw Failure(.providerMisconfigured, "Example does not know the client. The operator has to check it.")
        }
        guard reply.status == 200, let answer = (try? JSONParser.parse(reply.body, limits: .reply))?.object else {
            throw .badReply(Self.service, cause: "Example: status \(reply.status)")
        }
        return answer
    }
}
