/// `/.well-known/…`: the keys of ID tokens and the document that names them.
extension World {
    /// The document at a path below `.well-known`; `nil` when there is none.
    func openIDDocument(_ request: GraphRequest) -> GraphReply? {
        let document: JSON
        switch request.components.dropFirst().joined(separator: "/") {
        case "oauth/openid/jwks": document = keys.jwks
        case "openid-configuration": document = Self.discovery(origin: request.origin)
        default: return nil
        }
        // Facebook's addresses end with a slash, and it sends those who forget it there.
        guard request.endsWithSlash else {
            var reply = GraphReply(status: 301, headers: [("Location", "/\(request.path)/")], bytes: [])
            reply.isWebsite = true
            return reply
        }
        var reply = GraphReply(document)
        reply.isWebsite = true
        return reply
    }

    /// Its addresses lie on this simulator; the issuer is Facebook, as in the tokens.
    private static func discovery(origin: String) -> JSON {
        [
            "issuer": "https://www.facebook.com",
            "authorization_endpoint": "\(origin)/dialog/oauth/",
            "jwks_uri": "\(origin)/.well-known/oauth/openid/jwks/",
            "response_types_supported": ["id_token", "token id_token"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "claims_supported": [
                "iss", "aud", "sub", "iat", "exp", "jti", "nonce", "email", "given_name", "middle_name", "family_name",
                "name", "picture", "user_friends", "user_birthday", "user_age_range", "user_gender", "user_hometown",
                "user_location", "user_link",
            ],
        ]
    }
}
