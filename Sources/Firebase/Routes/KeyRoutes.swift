import Applications
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins

/// The routes that publish the keys of ID tokens, at the paths of Google's hosts (docs/protocols/firebase.md §8).
///
/// A request names no application, unless it comes to a host name of one. So the keys of all applications are
/// published: a token is checked by its issuer and audience, too.
struct KeyRoutes {
    let tokens: TokenIssuer
    let directory: ApplicationDirectory
    let address: PublicAddress

    private static let owner = "securetoken@system.gserviceaccount.com"
    private static let keySet = "/\(Firebase.legacyHost)/service_accounts/v1/jwk/\(owner)"

    func mount(on router: Router<APIContext>) {
        router.get("/\(Firebase.legacyHost)/robot/v1/metadata/x509/\(Self.owner)") { request, _ in
            let published = try await tokens.tokenCertificates(of: application(of: request))
            return Response.google(published.certificates.object ?? [:], cachedFor: published.seconds)
        }
        for path in ["\(Firebase.toolkit)/v1/sessionCookiePublicKeys", Firebase.former("publicKeys")] {
            router.get(RouterPath("/" + path)) { request, _ in
                let published = try await tokens.tokenCertificates(of: application(of: request), forCookies: true)
                return Response.google(published.certificates.object ?? [:], cachedFor: published.seconds)
            }
        }
        router.get(RouterPath(Self.keySet)) { request, _ in
            let published = try await tokens.tokenKeySet(of: application(of: request), by: .rs256)
            return Response.google(published.set.object ?? [:], cachedFor: published.seconds)
        }
        router.get("/\(Firebase.issuerHost)/{project}/.well-known/openid-configuration") { _, context in
            guard let url = address.url, let project = context.parameters.get("project") else {
                throw Failure(.notFound, "This service has no public URL. The operator must set FEDERATION_PUBLIC_URL.")
            }
            return Response.google([
                "issuer": .string("https://\(Firebase.issuerHost)/\(project)"), "jwks_uri": .string(url + Self.keySet),
                "response_types_supported": .array([.string("id_token")]),
                "subject_types_supported": .array([.string("public")]),
                "id_token_signing_alg_values_supported": .array([.string("RS256")]),
            ])
        }
    }

    private func application(of request: Request) -> LoadedApplication? {
        request.hostName.flatMap { try? directory.application(host: $0[...]) }
    }
}
