extension IssuerCall {
    /// The discovery document, without the members that the issuer lacks.
    var discovery: JSON {
        var document: JSON = [
            "issuer": .string(identifier), "authorization_endpoint": .string("\(url)/authorize"),
            "token_endpoint": .string("\(url)/token"), "jwks_uri": .string("\(url)/keys"),
            "userinfo_endpoint": .string("\(url)/userinfo"),
            "introspection_endpoint": .string("\(url)/introspect"),
            "revocation_endpoint": .string("\(url)/revoke"), "end_session_endpoint": .string("\(url)/logout"),
            "backchannel_logout_supported": true, "backchannel_logout_session_supported": true,
            "response_types_supported": ["code"], "response_modes_supported": ["query", "form_post"],
            "grant_types_supported": ["authorization_code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [.string(issuer.algorithm.rawValue)],
            "scopes_supported": ["openid", "email", issuer.answersByForm ? "name" : "profile"],
            "token_endpoint_auth_methods_supported": [
                issuer.authentication == .basic ? "client_secret_basic" : "client_secret_post"
            ],
            "code_challenge_methods_supported": ["S256"],
        ]
        if issuer.refreshTokens {
            document["grant_types_supported"] = ["authorization_code", "refresh_token"]
        }
        if namesItselfInTheDialog { document["authorization_response_iss_parameter_supported"] = true }
        for member in issuer.lacks { document[member] = nil }
        return document
    }

    /// Whether the dialog's answer has `iss` (RFC 9207), and the discovery document promises it.
    var namesItselfInTheDialog: Bool {
        !issuer.answersByForm && !issuer.lacks.contains("authorization_response_iss_parameter_supported")
    }
}
