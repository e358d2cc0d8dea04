import Domain
import SignedTokens

/// The options of a provider, filled from its preset.
struct OpenIDSettings: Sendable {
    let title: String
    let issuer: Issuer
    /// The accepted values of `iss`; each may have ``IssuerRule/tenant`` in it.
    let issuers: [String]
    let clientIDs: [ProviderAppID]
    let algorithms: [SignatureAlgorithm]
    let subject: SubjectClaims
    let scopes: [String]
    let answersByForm: Bool
    let options: OpenIDOptions

    /// Fills the options; nil if neither they nor the preset name an issuer.
    init?(_ options: OpenIDOptions, name: ProviderName) {
        let preset = options.preset.flatMap { Presets.named($0) }
        guard let issuer = options.issuer ?? preset?.issuer else { return nil }
        title = options.title ?? preset?.title ?? name.text
        self.issuer = Issuer(url: issuer)
        issuers = [issuer] + (options.issuer == nil ? preset?.issuers ?? [] : [])
        clientIDs = options.clientIDs.compactMap { ProviderAppID($0) }
        algorithms = options.algorithms ?? preset?.algorithms ?? [.rs256]
        subject = options.subject ?? preset?.subject ?? .sub
        scopes = options.scopes ?? preset?.scopes ?? ["openid", "email", "profile"]
        answersByForm = preset?.answersByForm ?? false
        self.options = options
    }
}
