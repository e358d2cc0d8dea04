package import Description
package import Encodings
import Providers

extension FacebookOptions {
    /// Reads options; an absent option has its default.
    ///
    /// Secret options, and options that only a later version knows, are ignored.
    ///
    /// - Throws: `DocumentProblems` with every problem, by its place in the options.
    package init(_ document: JSONValue) throws(DocumentProblems) {
        let place = JSONPointer()
        guard let object = document.object else { throw DocumentProblems(place, "must be an object") }
        var problems = DocumentProblems()
        self = Self.description.read(membersOf: object, at: place, problems: &problems)
        guard problems.isEmpty else { throw problems }
    }

    /// The options of logins with Facebook, without the secret ones.
    ///
    /// They are the members of `providers.facebook` in an application document, and the stored form.
    package static let description = ObjectDescription(
        FacebookOptions(),
        unknown: "is not an option",
        [
            Field(
                "graphVersion",
                \.graphVersion,
                .text(version),
                "Version of the Graph API",
                "The version in front of every path of the Graph API."
            ),
            Field(
                "proof",
                \.proof,
                .word,
                "Form of appsecret_proof",
                "The form of appsecret_proof: timed is valid for five minutes, classic as long as the token."
            ),
            Field(
                "pkce",
                \.pkce,
                .word,
                "PKCE in the login dialog",
                """
                Whether our login dialog is opened with a challenge of PKCE. auto: with a challenge, and without one \
                for an hour after Facebook has forgotten one. on: always. off: never.
                """
            ),
            Field(
                "nonce",
                \.nonce,
                .word,
                "Nonce of an ID token",
                """
                What the nonce of an ID token must be. clientMade: the nonce that the client sends beside the token, \
                as it is or as its SHA-256 in hex. serverIssued: a nonce that POST users/nonce gave out and nobody has \
                used. off: any nonce, and only in tokens that iOS SDK 18.1 refreshes; other tokens are held to \
                clientMade.
                """
            ),
            Field(
                "idTokenSeconds",
                \.idTokenSeconds,
                .seconds(60...3600),
                "An ID token is accepted for",
                "Seconds after its issue at which an ID token is no longer accepted."
            ),
            Field(
                "redirectUris",
                \.redirectURIs,
                RedirectTarget.list,
                "Redirect URIs of clients",
                "The redirect URIs that a client's authorization code may come with, compared as bytes."
            ),
            Field(
                "returnUrls",
                \.returnURLs,
                RedirectTarget.list,
                "Return addresses",
                """
                Where a browser may be sent after a login through the server, compared as bytes. The first one counts \
                where the client names none.
                """
            ),
            Field(
                "permissions",
                \.permissions,
                .list(of: .text(permission), most: 50),
                "Permissions",
                "What the login dialog asks for where the client names no permissions."
            ),
            Field(
                "keepTokens",
                \.keepTokens,
                .flag,
                "Keep tokens of the provider",
                "Whether the provider token of the last login is kept, encrypted, with the identity."
            ),
            Field(
                "longLivedTokens",
                \.longLivedTokens,
                .flag,
                "Exchange them for long-lived ones",
                "Whether a kept access token is exchanged for one that lives some 60 days. Needs keepTokens."
            ),
            Field(
                "returnTokens",
                \.returnTokens,
                .flag,
                "Give them back to clients",
                "Whether a client may have the kept token of its own user back. Needs keepTokens."
            ),
            Field(
                "endSessionsWhenRevoked",
                \.endSessionsWhenRevoked,
                .flag,
                "End sessions when an identity is revoked",
                "Whether the sessions that rest on an identity end when Facebook says that the identity is revoked."
            ),
            Field(
                "refreshHours",
                \.refreshHours,
                Codec.integer(1...8760, "hours").orNull,
                "Read profiles again after, in hours",
                """
                Hours after which the profile of a kept token is read again, by the same mapping; null for never. \
                Needs keepTokens.
                """
            ),
            Field(
                "eraseAfterDays",
                \.eraseAfterDays,
                .integer(0...30, "days"),
                "Days before an erasure that was asked for",
                "Days between a person's request for deletion and the erasure; 0 erases at once."
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
