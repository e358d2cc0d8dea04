import AuthorizationServers
import Domain
import Encodings
import Mapping
import SignedTokens

/// The options of a provider, filled from its preset.
struct OpenIDSettings: Sendable {
    let title: String
    let issuer: Issuer
    /// The accepted values of `iss`; each may have ``IssuerRule/tenant`` in it.
    let issuers: [String]
    /// The accepted values of `iss` in events.
    let eventIssuers: [String]
    /// How the issuer shows the client of an access token; nil for introspection.
    let tokenCheck: TokenClientCheck?
    /// How tokens are revoked; nil for the address in the discovery document.
    let revocation: TokenRevocation?
    /// Whether an access token logs in.
    let acceptsAccessTokens: Bool
    let algorithms: [SignatureAlgorithm]
    let subject: SubjectClaims
    let scopes: [String]
    /// The parameters with which the dialog asks for a refresh token, such as `access_type=offline`.
    let offlineParameters: [String]
    let fields: ProfileFields
    let trust: EmailTrust
    let preset: OpenIDPreset
    let options: OpenIDOptions
    /// The key that signs client secrets; nil if each client has its own secret.
    let signingKey: ClientSecretKey?

    /// Fills the options; nil if neither they nor the preset name an issuer.
    init?(_ options: OpenIDOptions, preset: OpenIDPreset?, name: ProviderName, privateKey: Secret?) {
        guard let issuer = options.issuer ?? preset?.issuer else { return nil }
        title = options.title ?? preset?.title ?? name.text
        self.issuer = Issuer(url: issuer, pinned: options.pinned)
        // What a preset says about its issuer is not true of another one.
        let known = options.issuer == nil ? preset : nil
        issuers = [issuer] + (known?.issuers ?? [])
        eventIssuers = issuers + [known?.eventIssuer].compactMap(\.self)
        algorithms = options.algorithms ?? preset?.algorithms ?? [.rs256]
        subject = options.subject ?? preset?.subject ?? .sub
        scopes =
            options.scopes
            ?? (preset?.scopes ?? ["openid", "email", "profile"])
            + (options.keepTokens ? preset?.offlineScopes ?? [] : [])
        fields = .openID.adding(sample: preset?.sample ?? [:], of: title)
        trust = EmailTrust(
            domains: options.emailDomains + (known?.emailDomains ?? []),
            domainClaim: known?.emailDomainClaim
        )
        tokenCheck = known?.tokenCheck
        revocation = known?.revocation
        acceptsAccessTokens =
            options.nonce != .serverIssued && options.accessTokens ?? (known?.tokenCheck != nil)
        // Without the prompt, an issuer may refuse or ignore the scope (Core 11).
        let prompt = scopes.contains("offline_access") ? ["prompt=consent"] : []
        offlineParameters = options.keepTokens ? preset?.offlineParameters ?? prompt : []
        self.preset = preset ?? OpenIDPreset()
        self.options = options
        signingKey = options.signingKey.flatMap { key in
            privateKey.flatMap { ClientSecretKey(key, pem: $0) }
        }
    }
}
