import AuthorizationServers
package import Description
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
    /// Whether an access token logs in; nil for the preset's choice.
    package var accessTokens: Bool?
    /// Whether a login by an authorization code also reads the claims at the issuer's `userinfo`.
    package var userinfo = false
    /// Whether the service keeps refresh tokens.
    package var keepTokens = false
    /// The hours after which the service reads the claims again by the kept token, and maps them; nil for never.
    package var refreshHours: Int64?
    /// Whether the sessions of an identity end if the issuer says that the identity is revoked.
    package var endSessionsWhenRevoked = true
    /// Whether an e-mail address counts as confirmed if the issuer is authoritative for its domain and says that the
    /// user owns it.
    package var confirmEmail = false
    /// Domains for which the issuer is authoritative, besides those of the preset.
    package var emailDomains: [String] = []
    /// The key that signs client secrets; nil if each client has a secret of its own.
    package var signingKey: SigningKeyOptions?
    /// What stands in place of the discovery document; nil to fetch it.
    package var pinned: PinnedIssuer?

    package init() {}
}

/// The claims of an ID token that identify a user.
package enum SubjectClaims: String, Sendable, CaseIterable {
    /// The claim `sub`.
    case sub
    /// The claims `tid` and `oid`: a user of a tenant of Microsoft, whose `sub` differs from app to app.
    case tenantAndObject
}

extension OpenIDOptions: ProviderOptions {
    /// Describes the options, except the secret ones.
    package static let description = ObjectDescription(
        OpenIDOptions(),
        unknown: "is not an option",
        [
            Field(
                "preset",
                \.preset,
                Codec<String>.text(PresetName.rule).orNull,
                "Preset",
                """
                The name of a known issuer, whose document fills the options that are null: \
                \(OpenIDPreset.shipped.names).
                """
            ),
            SharedOptions.title(\.title, otherwise: "that of the preset, or the provider's name"),
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
                .list(of: .text(AppTerms.clientIDRule), max: 50, repeated: "names a client id twice"),
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
            SharedOptions.scopes(
                \.scopes,
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
            Field(
                "accessTokens",
                \.accessTokens,
                Codec<Bool>.flag.orNull,
                "Logins by access token",
                """
                Whether an access token logs in, if the issuer says that it issued the token for one of the client ids. \
                Each API that an app calls holds such tokens, and could log in as the user. Never with nonce \
                serverIssued. null: only with presets that need it, such as google.
                """
            ),
            Field(
                "userinfo",
                \.userinfo,
                .flag,
                "Read userinfo",
                """
                Whether a login by an authorization code also reads the claims at the issuer's userinfo endpoint. A \
                login by an access token always does.
                """
            ),
            SharedOptions.keepTokens(\.keepTokens),
            SharedOptions.refreshHours(\.refreshHours),
            Field(
                "endSessionsWhenRevoked",
                \.endSessionsWhenRevoked,
                .flag,
                "End sessions of a revoked identity",
                "Whether the sessions that an identity opened end when the issuer reports that the user revoked the app."
            ),
            Field(
                "confirmEmail",
                \.confirmEmail,
                .flag,
                "Confirm e-mail addresses",
                """
                Whether the address of a user counts as confirmed if the issuer says email_verified and owns the domain: \
                Google for gmail.com and for the domain of an organization, Apple for its relay, and emailDomains. The \
                address still finds nobody.
                """
            ),
            Field(
                "emailDomains",
                \.emailDomains,
                .list(of: .text(EmailTrust.domain), max: 50, repeated: "names a domain twice"),
                "Domains of the issuer",
                "Further domains whose addresses the issuer owns, such as that of your company."
            ),
            Field(
                "signingKey",
                \.signingKey,
                Codec<SigningKeyOptions>.object(SigningKeyOptions.description).orNull,
                "Key for client secrets",
                """
                Apple's key, with the option privateKey: the service then makes the client secrets itself, and the \
                clients need none. null: each client has its secret.
                """
            ),
            Field(
                "pinned",
                \.pinned,
                Codec<PinnedIssuer>.object(PinnedIssuer.description).orNull,
                "Pinned endpoints and keys",
                """
                Endpoints and keys in place of the discovery document, under its names. null: the service fetches the \
                document.
                """
            ),
        ]
    ) { options, place, problems in
        SharedOptions.check(keepTokens: options.keepTokens, options.refreshHours, at: place, &problems)
    }
}
