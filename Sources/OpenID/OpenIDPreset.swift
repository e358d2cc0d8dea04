package import AuthorizationServers
package import Description
import Domain
package import Encodings
import Providers
import SignedTokens

/// The options of a known provider, as a document.
///
/// A document is a JSON object:
///
///     {"name": "google", "title": "Google", "issuer": "https://accounts.google.com",
///      "issuers": ["accounts.google.com"], "algorithms": ["RS256"], "subject": "sub",
///      "scopes": ["openid", "email", "profile"]}
///
/// All members except `name` may be absent.
package struct OpenIDPreset: PresetDocument {
    package var name = ""
    package var title: String?
    var issuer: String?
    /// Further values of `iss` that the issuer writes.
    var issuers: [String] = []
    var algorithms: [SignatureAlgorithm]?
    var subject: SubjectClaims?
    var scopes: [String]?
    /// How clients authenticate; nil for what the discovery document says.
    var authentication: ClientAuthentication?
    /// Further scopes that ask for a refresh token, if tokens are kept.
    var offlineScopes: [String] = []
    /// How the dialog returns its answer.
    var responseMode = ResponseMode.query
    /// Whether SDKs get codes without a redirect, which go without `redirect_uri` (Apple, Google).
    var nativeCodes = false
    /// Whether the form of the first dialog has the user's name (Apple).
    var namesFirstUser = false
    /// Further parameters of the dialog's address, such as Google's `access_type=offline`, if tokens are kept; nil for
    /// `prompt=consent` with the scope `offline_access`.
    var offlineParameters: [String]?
    /// Whether the service can log users in by the issuer's dialog.
    var dialog = true
    /// How the issuer shows for which client an access token was issued; nil for token introspection.
    package var tokenCheck: TokenClientCheck?
    /// The address where tokens are revoked, if the discovery document does not name it.
    package var revocation: TokenRevocation?
    /// The domains of e-mail addresses for which the issuer is authoritative.
    var emailDomains: [String] = []
    /// The claim with the domain of the user's organization, for whose addresses the issuer is authoritative.
    var emailDomainClaim: String?
    /// The issuer of security events, if the events name another one than ID tokens.
    var eventIssuer: String?
    package var setup: [String] = []
    /// Claims beside the standard ones, with a sample of each, as an object of JSON.
    package var sample = JSONObject()

    package init() {}

    /// Describes the document.
    package static let description = describe([
        .text("issuer", \.issuer, IssuerRule.rule, "The issuer's URL."),
        list("issuers", \.issuers, of: IssuerRule.written, "Further values of the claim iss."),
        Field(
            "algorithms",
            \.algorithms,
            Codec<[SignatureAlgorithm]>.list(of: .word, max: 5, repeated: "names an algorithm twice").orNull,
            "Algorithms",
            "The algorithms by which ID tokens may be signed."
        ),
        Field(
            "subject",
            \.subject,
            Codec<SubjectClaims>.word.orNull,
            "Subject",
            "The claims that identify a user."
        ),
        SharedOptions.scopes(\.scopes, "The scopes that the login dialog asks for."),
        Field(
            "authentication",
            \.authentication,
            Codec<ClientAuthentication>.word.orNull,
            "Authentication",
            "How clients authenticate. null: as the discovery document says."
        ),
        list("offlineScopes", \.offlineScopes, of: Scopes.rule, "Scopes that ask for a refresh token."),
        Field("responseMode", \.responseMode, .word, "Answer of the dialog", "How the dialog answers."),
        Field(
            "namesFirstUser",
            \.namesFirstUser,
            .flag,
            "Name in the first form",
            "Whether the form of the first dialog has the user's name, as with Apple."
        ),
        Field(
            "nativeCodes",
            \.nativeCodes,
            .flag,
            "Codes of SDKs",
            "Whether SDKs get codes without a redirect, as with Apple and Google."
        ),
        Field(
            "offlineParameters",
            \.offlineParameters,
            Codec<[String]>.list(of: .text(parameter), max: 20).orNull,
            "offlineParameters",
            """
            Parameters of a dialog that ask for a refresh token, such as access_type=offline. null: prompt=consent, \
            with the scope offline_access.
            """
        ),
        Field(
            "dialog",
            \.dialog,
            .flag,
            "Dialog",
            "Whether the service can log users in by the issuer's dialog. LINE signs its ID tokens with the secret."
        ),
        list("emailDomains", \.emailDomains, of: EmailTrust.domain, "Domains whose addresses the issuer owns."),
        .text(
            "emailDomainClaim",
            \.emailDomainClaim,
            MemberPath.rule,
            "The claim with the domain of the user's organization, whose addresses the issuer owns."
        ),
        .text("eventIssuer", \.eventIssuer, IssuerRule.written, "The claim iss of security events."),
    ])

    package static let shipped = Presets<OpenIDPreset>(shipped: PackageResources.presets_json)

    private static func list(
        _ name: String,
        _ path: any WritableKeyPath<OpenIDPreset, [String]> & Sendable,
        of rule: TextRule,
        _ meaning: String
    ) -> Field<OpenIDPreset> {
        Field(name, path, .list(of: .text(rule), max: 20), name, meaning)
    }

    private static let parameter = TextRule(
        "must be a parameter with its value, like access_type=offline",
        pattern: "^[a-z_]{1,64}=[A-Za-z0-9_.-]{1,64}$",
        example: "access_type=offline"
    ) { text in text.isJoined(2...2, by: "=") { $0.isASCIIAlphanumeric || $0.isOne(of: "_.-") } }
}

/// How a dialog returns its answer (OAuth 2.0 Multiple Response Types, Form Post Response Mode).
package enum ResponseMode: String, Sendable, CaseIterable {
    case query
    case form = "form_post"
}
