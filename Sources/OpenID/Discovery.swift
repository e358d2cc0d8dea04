import AuthorizationServers
import Curl
import Domain
import Encodings

/// What the service needs of an issuer's discovery document (docs/protocols/openid.md §1).
struct Discovery: Sendable {
    let authorizationEndpoint: HTTPURL?
    let tokenEndpoint: HTTPURL?
    let userinfoEndpoint: HTTPURL?
    let introspectionEndpoint: HTTPURL?
    let revocationEndpoint: HTTPURL?
    /// The key set; nil if the operator has set the keys themselves.
    let keysURL: HTTPURL?
    /// How clients authenticate.
    let authentication: ClientAuthentication
    /// Whether the issuer names itself in the redirect of a dialog (RFC 9207 §2).
    let namesIssuer: Bool

    /// The path of the discovery document below the issuer.
    static let path = "/.well-known/openid-configuration"

    /// Reads a discovery document.
    ///
    /// - Parameters:
    ///   - body: The bytes of the document.
    ///   - issuer: The issuer that was asked. The document must name the same one, byte for byte: otherwise, it
    ///     could make tokens of another issuer count.
    /// - Throws: `DiscoveryProblem`.
    init(_ body: [UInt8], of issuer: String) throws(DiscoveryProblem) {
        guard let object = (try? JSONParser.parse(body, limits: .profile))?.object else {
            throw DiscoveryProblem("is no JSON object")
        }
        guard let named = object["issuer"]?.string, named.hasSameBytes(as: issuer) else {
            throw DiscoveryProblem("names another issuer than the one in the settings")
        }
        try self.init(object)
    }

    /// Reads the members of a discovery document.
    private init(_ object: JSONObject) throws(DiscoveryProblem) {
        func url(_ name: String) throws(DiscoveryProblem) -> HTTPURL? {
            guard let text = object.present(name) else { return nil }
            guard let url = text.string.flatMap({ try? HTTPURL($0) }) else {
                throw DiscoveryProblem("has a member \(name) that is no https URL")
            }
            return url
        }
        guard let keys = try url("jwks_uri") else { throw DiscoveryProblem("has no jwks_uri") }
        keysURL = keys
        authorizationEndpoint = try url("authorization_endpoint")
        tokenEndpoint = try url("token_endpoint")
        userinfoEndpoint = try url("userinfo_endpoint")
        introspectionEndpoint = try url("introspection_endpoint")
        revocationEndpoint = try url("revocation_endpoint")
        namesIssuer = object["authorization_response_iss_parameter_supported"]?.bool ?? false
        // Without the member, the header is the way (Discovery 3). A server with other ways only is asked by the
        // header, and says what it wants.
        let methods = object["token_endpoint_auth_methods_supported"]?.array?.compactMap(\.string) ?? []
        let known = methods.compactMap { name in
            ClientAuthentication.allCases.first { $0.rawValue.hasSameBytes(as: name) }
        }
        authentication = known.contains(.basic) ? .basic : known.first ?? .basic
    }
}

/// Why a discovery document cannot be used; the text follows "The discovery document".
struct DiscoveryProblem: Error {
    let text: String

    init(_ text: String) { self.text = text }
}

extension Discovery {
    /// Creates the endpoints that an operator has set.
    init(_ pinned: PinnedIssuer) {
        func url(_ text: String?) -> HTTPURL? { text.flatMap { try? HTTPURL($0) } }
        authorizationEndpoint = url(pinned.authorizationEndpoint)
        tokenEndpoint = url(pinned.tokenEndpoint)
        userinfoEndpoint = url(pinned.userinfoEndpoint)
        introspectionEndpoint = url(pinned.introspectionEndpoint)
        revocationEndpoint = url(pinned.revocationEndpoint)
        keysURL = url(pinned.keysURL)
        authentication = pinned.authentication
        namesIssuer = false
    }
}
