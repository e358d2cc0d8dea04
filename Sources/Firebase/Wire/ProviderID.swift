import Domain

/// The name of a provider as Firebase's clients write it, such as `facebook.com` or `oidc.staff`.
enum ProviderID {
    /// The providers whose names end with `.com`.
    private static let known = ["facebook", "google", "apple", "twitter", "github", "microsoft"]

    /// Returns the provider that a client names; nil for a name that no provider can have.
    static func provider(_ id: String) -> ProviderName? {
        if id.hasPrefix("oidc.") { return ProviderName(id.dropFirst("oidc.".count)) }
        guard id.hasSuffix(".com") else { return nil }
        let name = id.dropLast(".com".count)
        return known.contains(String(name)) ? ProviderName(name) : nil
    }

    /// Returns how clients name a provider, or the login method `password`.
    static func id(of provider: String) -> String {
        switch provider {
        case ProviderName.password.text: "password"
        case let name where known.contains(name): name + ".com"
        default: "oidc." + provider
        }
    }

    /// Returns the id of a user at a provider as a URL, as Google's service writes it in the response to a login.
    static func federatedID(_ subject: String, at provider: ProviderName) -> String {
        switch provider.text {
        case "facebook": "http://facebook.com/\(subject)"
        case "twitter": "http://twitter.com/\(subject)"
        case "google": "https://accounts.google.com/\(subject)"
        default: subject
        }
    }
}
