package import Vocabulary

/// Where the public listener is reached from outside, as far as the deployment says so.
package struct PublicAddress: Sendable {
    /// Such as `https://users.example.com`; nil when the deployment does not say.
    package let url: String?

    package init(url: String?) {
        self.url = url
    }

    /// What the links begin with that are given out for an application: the deployment's public URL and a base path.
    ///
    /// Of what a request says nothing gets in but what the configuration has confirmed: a key of the application, or
    /// one of its host names (T-71). A host name is reached by the scheme and the port of the public URL.
    ///
    /// - Throws: `provider_not_configured` when the deployment does not say where it is reached.
    package func base(of base: PublicBase, for application: Application) throws(Failure) -> String {
        guard let url else {
            throw Failure(
                .providerNotConfigured,
                "The operator has not said where this service is reached from outside (FEDERATION_PUBLIC_URL)."
            )
        }
        switch base {
        case .key(let key): return "\(url)/\(application.id)/\(key)"
        case .host(let name): return "\(PublicURL(url).withHost(name))/api"
        }
    }

    /// Whether browsers reach the deployment by HTTPS, as far as it says so.
    package var isReachedByTLS: Bool { url?.utf8.starts(with: "https://".utf8) ?? false }

    /// The host name of the public URL, in lower case; nil without one.
    package var host: String? { url.map { PublicURL($0).host } }
}

/// The parts of the public URL, which was checked when the service started.
struct PublicURL {
    /// Such as `https://`.
    private let scheme: Substring
    /// In lower case.
    let host: String
    /// With its colon; empty without one.
    private let port: String

    init(_ url: String) {
        let slashes = url.firstRange(of: "://")?.upperBound ?? url.startIndex
        scheme = url[..<slashes]
        let authority = url[slashes...].utf8.prefix { $0 != UInt8(ascii: "/") }
        // The colons of an IPv6 address stand in brackets.
        let colon = authority.lastIndex(of: UInt8(ascii: ":")).flatMap { colon in
            authority[colon...].dropFirst().allSatisfy(\.isASCIIDigit) ? colon : nil
        }
        host = (String(authority[..<(colon ?? authority.endIndex)]) ?? "").lowercased()
        port = colon.flatMap { String(authority[$0...]) } ?? ""
    }

    func withHost(_ name: String) -> String { "\(scheme)\(name)\(port)" }
}
