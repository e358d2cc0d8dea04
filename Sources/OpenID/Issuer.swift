import Curl
package import Description
import Domain
import Encodings

/// The rule for the URL of an issuer (docs/protocols/openid.md §2).
package enum IssuerRule {
    package static let rule = TextRule(
        "must be an https URL without a query, like https://accounts.example.com",
        pattern: "^https?://[^?#\\s]{1,490}$",
        example: "https://accounts.example.com"
    ) { text in
        text.utf8.count <= 500 && !text.utf8.contains(where: { $0.isOne(of: "?#") })
            && (try? HTTPURL(text.replacing(tenant, with: "common"))) != nil
    }

    /// The rule for a value that an issuer writes in the claim `iss`, which need not be a URL: Google also writes
    /// `accounts.google.com`.
    static let written = TextRule(
        "must be a text of 1 to 500 visible ASCII characters",
        pattern: "^[!-~]{1,500}$",
        example: "accounts.example.com"
    ) { text in
        (1...500).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The place of the tenant in the issuer of a service that has one for each tenant, such as Microsoft's.
    static let tenant = "{tenantid}"
}

/// An issuer of ID tokens, by the URL in the settings.
struct Issuer: Sendable, Hashable {
    /// The URL as in the settings, with or without ``IssuerRule/tenant``.
    let url: String
    /// What the operator has set in place of the discovery document; nil for none.
    let pinned: PinnedIssuer?

    /// The URL of the discovery document.
    ///
    /// That of an issuer for each tenant is the document for all of them, which has the place of the tenant in it.
    var discoveryURL: String {
        var base = url.replacing(IssuerRule.tenant, with: "common")
        if base.utf8.last == UInt8(ascii: "/") { base.removeLast() }
        return base + Discovery.path
    }
}
