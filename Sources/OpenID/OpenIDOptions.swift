package import Description
package import Encodings
import Providers
package import SignedTokens

/// The options of logins with an OpenID provider.
package struct OpenIDOptions: Sendable, Equatable {
    /// The name of the preset that fills the options which are nil; nil for none.
    package var preset: String?
    /// The display name of the provider; nil for that of the preset, or else the provider's name.
    package var title: String?
    /// The issuer: the base of its discovery document, and the claim `iss` of its tokens.
    package var issuer: String?
    /// Client ids that have no secret, such as those of mobile apps; their ID tokens are accepted.
    package var clientIDs: [String] = []
    /// The algorithms by which ID tokens may be signed.
    package var algorithms: [SignatureAlgorithm]?
    /// The claims that identify a user.
    package var subject: SubjectClaims?
    /// The scopes that the login dialog asks for.
    package var scopes: [String]?
    package var nonce = NoncePolicy.clientMade
    /// The seconds from the issue of an ID token until the service refuses it.
    package var idTokenSeconds: Int64 = 3600
    /// The redirect URIs that are accepted with an authorization code from a client, compared as bytes.
    package var redirectURIs: [String] = []
    /// The URLs to which a browser may return after a login in a dialog that this service opens, compared as bytes.
    package var returnURLs: [String] = []

    package init() {}
}

/// The claims of an ID token that identify a user.
package enum SubjectClaims: String, Sendable, CaseIterable {
    /// The claim `sub`.
    case sub
    /// The claims `tid` and `oid`: a user of a tenant of Microsoft, whose `sub` differs from app to app.
    case tenantAndObject
}

extension OpenIDOptions {
    /// Reads the options; an absent option has its default.
    ///
    /// - Throws: `DocumentProblems` with every problem, by its position in the options.
    package init(_ document: JSONValue) throws(DocumentProblems) {
        let place = JSONPointer()
        guard let object = document.object else { throw DocumentProblems(place, "must be an object") }
        var problems = DocumentProblems()
        self = Self.description.read(membersOf: object, at: place, problems: &problems)
        guard problems.isEmpty else { throw problems }
    }

    /// Describes the options, except the secret ones.
    package static let description = ObjectDescription(
        OpenIDOptions(),
        unknown: "is not an option",
        [
            Field(
                "preset",
                \.preset,
                Codec<String>.text(ProviderNameRule.rule).orNull,
                "Preset",
                "The name of a known issuer, whose document fills the options that are null: \(Presets.names)."
            ),
            Field(
                "title",
                \.title,
                Codec<String>.text(titleRule).orNull,
                "Displayed name",
                "The name of the provider on pages and in messages. null: that of the preset, or the provider's name."
            ),
            Field(
                "issuer",
                \.issuer,
                Codec<String>.text(IssuerRule.rule).orNull,
                "Issuer",
                """
                The issuer's URL, as its discovery document and its tokens name it. null: that of the preset.
                """
            ),
            Field(
                "clientIds",
                \.clientIDs,
                .list(of: .text(OpenIDKind.clientIDRule), max: 50, repeated: "names a client id twice"),
                "Client ids without a secret",
                "Further client ids whose ID tokens are accepted, such as those of mobile apps."
            ),
            Field(
                "algorithms",
                \.algorithms,
                Codec<[SignatureAlgorithm]>.list(of: .word, max: 5, repeated: "names an algorithm twice").orNull,
                "Signature algorithms",
                "The algorithms by which ID tokens may be signed. null: those of the preset, or RS256."
            ),
            Field(
                "subject",
                \.subject,
                Codec<SubjectClaims>.word.orNull,
                "Claims that identify a user",
                """
                sub: the claim sub. tenantAndObject: the claims tid and oid, for Microsoft. null: those of the \
                preset, or sub. With a change, users are no longer recognized.
                """
            ),
            Field(
                "scopes",
                \.scopes,
                Codec<[String]>.list(of: .text(scopeRule), max: 50).orNull,
                "Scopes",
                """
                The scopes that the login dialog asks for, openid among them. null: those of the preset, or openid, \
                email and profile.
                """
            ),
            Field(
                "nonce",
                \.nonce,
                .word,
                "Nonce of an ID token",
                """
                The nonce that an ID token must have. clientMade: the nonce that the client sends with the token, as \
                it is or as its SHA-256 in hex. serverIssued: an unused nonce from POST users/oauth/{provider}/nonce. \
                off: the same as clientMade, except for tokens that are bound to a key of the device.
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
        ]
    )

    private static let titleRule = TextRule(
        "must be a text of 1 to 60 characters",
        pattern: "^[^\\u0000-\\u001F\\u007F]{1,60}$",
        example: "Staff"
    ) { text in
        (1...60).contains(text.unicodeScalars.count)
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    }

    private static let scopeRule = TextRule(
        "must be a scope of 1 to 100 visible ASCII characters without quotes and backslashes",
        pattern: #"^[!#-\[\]-~]{1,100}$"#,
        example: "email"
    ) { text in
        (1...100).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !$0.isOne(of: #""\"#) }
    }
}

/// The rule for names of presets.
enum ProviderNameRule {
    static let rule = TextRule(
        "must be 1 to 32 of a-z 0-9 -, like google",
        pattern: "^[a-z][a-z0-9-]{0,31}$",
        example: "google"
    ) { text in
        (1...32).contains(text.utf8.count) && text.utf8.first?.isASCIILowercase == true
            && text.utf8.allSatisfy { $0.isASCIILowercase || $0.isASCIIDigit || $0 == UInt8(ascii: "-") }
    }
}
