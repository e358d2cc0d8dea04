package import AuthorizationServers
package import Description
import Encodings
import SignedTokens

/// What an operator sets in place of an issuer's discovery document, so that the service never fetches it.
///
/// The members have the names of the discovery document (Discovery 3), and `keys` those of a key set (RFC 7517 §5).
package struct PinnedIssuer: Sendable, Hashable {
    package var authorizationEndpoint: String?
    package var tokenEndpoint: String?
    package var userinfoEndpoint: String?
    package var introspectionEndpoint: String?
    package var revocationEndpoint: String?
    package var keysURL: String?
    package var keyTexts: [String] = []
    package var authentication = ClientAuthentication.basic

    package init() {}

    /// Describes the members.
    package static let description = ObjectDescription(
        PinnedIssuer(),
        unknown: "is not an endpoint",
        [
            address("authorization_endpoint", \.authorizationEndpoint, "The login dialog."),
            address("token_endpoint", \.tokenEndpoint, "Where codes and refresh tokens are exchanged."),
            address("userinfo_endpoint", \.userinfoEndpoint, "Where the service reads further claims."),
            address("introspection_endpoint", \.introspectionEndpoint, "Where the service checks access tokens."),
            address("revocation_endpoint", \.revocationEndpoint, "Where the service revokes tokens."),
            address("jwks_uri", \.keysURL, "The key set. Needed without keys."),
            Field(
                "keys",
                \.keyTexts,
                .list(of: .text(keyRule), max: 20),
                "Keys",
                "Keys of the issuer, each a JWK as a text. The service then fetches no key set."
            ),
            Field(
                "token_endpoint_auth_method",
                \.authentication,
                .word,
                "Authentication of the client",
                "How the service authenticates at the token endpoint."
            ),
        ]
    ) { pinned, place, problems in
        if pinned.keysURL == nil, pinned.keyTexts.isEmpty {
            problems.add(place / "jwks_uri", "is needed, or keys")
        }
    }

    private static func address(
        _ name: String,
        _ path: any WritableKeyPath<PinnedIssuer, String?> & Sendable,
        _ meaning: String
    ) -> Field<PinnedIssuer> {
        Field(name, path, Codec<String>.text(ServerAddress.rule).orNull, name, meaning)
    }

    private static let keyRule = TextRule(
        "must be a public key as the JSON text of a JWK",
        pattern: "^\\{.{2,6000}\\}$",
        example: #"{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
    ) { jwk($0) != nil }

    private static func jwk(_ text: String) -> JSONObject? {
        guard let jwk = (try? JSONParser.parse(text, limits: .profile))?.object, SigningKey(jwk: jwk) != nil else {
            return nil
        }
        return jwk
    }

    /// The key set; nil if the service must fetch it.
    var keys: [JSONObject]? { keyTexts.isEmpty ? nil : keyTexts.compactMap(Self.jwk) }
}
