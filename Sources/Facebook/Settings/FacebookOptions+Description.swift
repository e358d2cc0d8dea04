package import Description
import Encodings
import Providers

extension FacebookOptions: ProviderOptions {
    /// Describes the options of logins with Facebook, except the secret ones.
    package static let description = ObjectDescription(
        FacebookOptions(),
        unknown: "is not an option",
        [
            Field(
                "graphVersion",
                \.graphVersion,
                .text(version),
                "Graph API version",
                "The Graph API version in every request."
            ),
            Field(
                "proof",
                \.proof,
                .word,
                "Form of appsecret_proof",
                "The form of appsecret_proof. timed: valid for five minutes. classic: valid as long as the token."
            ),
            Field(
                "pkce",
                \.pkce,
                .word,
                "PKCE in the login dialog",
                """
                Whether a login through the server opens the dialog with a PKCE challenge. auto: yes, except for an \
                hour after Facebook has lost one. on: always. off: never.
                """
            ),
            Field(
                "nonce",
                \.nonce,
                .word,
                "Nonce of an ID token",
                """
                The nonce that an ID token must have. clientMade: the nonce that the client sends with the token, as \
                it is or as its SHA-256 in hex. serverIssued: an unused nonce from POST users/nonce. off: any nonce, \
                only in tokens that iOS SDK 18.1 refreshes; other tokens follow clientMade.
                """
            ),
            Field(
                "idTokenSeconds",
                \.idTokenSeconds,
                .seconds(60...3600),
                "Maximum age of an ID token",
                "How long after its issue an ID token is accepted."
            ),
            RedirectTarget.ofClients(\.redirectURIs),
            RedirectTarget.afterLogin(\.returnURLs),
            Field(
                "permissions",
                \.permissions,
                .list(of: .text(permission), max: 50),
                "Permissions",
                "Permissions that the login dialog asks for if the client names none."
            ),
            Field(
                "keepTokens",
                \.keepTokens,
                .flag,
                "Store provider tokens",
                "Whether the provider token of the last login is stored, encrypted, with the identity."
            ),
            Field(
                "longLivedTokens",
                \.longLivedTokens,
                .flag,
                "Exchange for long-lived tokens",
                "Whether a stored access token is exchanged for one that is valid for about 60 days. Needs keepTokens."
            ),
            Field(
                "returnTokens",
                \.returnTokens,
                .flag,
                "Return stored tokens to clients",
                "Whether a client can get the stored token of its user. Needs keepTokens."
            ),
            Field(
                "endSessionsWhenRevoked",
                \.endSessionsWhenRevoked,
                .flag,
                "Revoke sessions of a revoked identity",
                "Whether the sessions of an identity are revoked when Facebook reports that the identity is revoked."
            ),
            Field(
                "refreshHours",
                \.refreshHours,
                Codec.integer(1...8760, "hours").orNull,
                "Hours between profile refreshes",
                """
                Hours after which a profile is read again with the stored token, and mapped again. null: never. Needs \
                keepTokens.
                """
            ),
            Field(
                "eraseAfterDays",
                \.eraseAfterDays,
                .integer(0...30, "days"),
                "Days before a requested erasure",
                "Days between a user's deletion request at Facebook and the erasure. 0: at once."
            ),
        ],
        rules: [needsKeptTokens]
    )

    private static let version = TextRule(
        "must look like v25.0",
        pattern: #"^v[0-9]{1,3}\.[0-9]{1,2}$"#,
        example: "v25.0",
        isValid: GraphVersions.isVersion
    )

    private static let permission = TextRule(
        "must be the name of a permission, \(PermissionName.form)",
        pattern: "^[a-z0-9_]{1,64}$",
        example: "user_birthday",
        isValid: PermissionName.isValid
    )

    private static let needsKeptTokens = JSONValue(
        schema: """
            {"if": {"anyOf": [
               {"required": ["longLivedTokens"], "properties": {"longLivedTokens": {"const": true}}},
               {"required": ["returnTokens"], "properties": {"returnTokens": {"const": true}}},
               {"required": ["refreshHours"], "properties": {"refreshHours": {"type": "integer"}}}]},
             "then": {"required": ["keepTokens"], "properties": {"keepTokens": {"const": true}}}}
            """
    )
}
