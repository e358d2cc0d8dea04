import AuthorizationServers
import Domain
import Mapping

/// A server with all its addresses: those of another operator have a circuit breaker of their own.
struct OAuth2ServerKey: Hashable {
    let title: String
    let addresses: [String?]
}

/// The options of a provider, filled from its preset.
struct OAuth2Settings: Sendable {
    let title: String
    let authorizationURL: String
    let tokenURL: String
    let profileURL: String
    let tokenCheck: TokenClientCheck?
    let revocation: TokenRevocation?
    let scopes: [String]
    let fields: ProfileFields
    let preset: OAuth2Preset
    let options: OAuth2Options

    var server: OAuth2ServerKey {
        OAuth2ServerKey(
            title: title,
            addresses: [authorizationURL, tokenURL, profileURL, tokenCheck?.url, revocation?.url]
        )
    }

    init(_ options: OAuth2Options, preset: OAuth2Preset) {
        title = options.title ?? preset.title ?? preset.name
        authorizationURL = options.authorizationURL ?? preset.authorizationURL
        tokenURL = options.tokenURL ?? preset.tokenURL
        profileURL = options.profileURL ?? preset.profileURL
        var check = preset.tokenCheck
        if let url = options.tokenCheckURL { check?.url = url }
        tokenCheck = check
        var revocation = preset.revocation
        if let url = options.revocationURL { revocation?.url = url }
        self.revocation = revocation
        scopes = options.scopes ?? preset.scopes
        fields = ProfileFields(of: title, [:]).adding(sample: preset.sample, of: title)
        self.preset = preset
        self.options = options
    }
}
