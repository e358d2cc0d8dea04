import Vocabulary

/// Where the public listener is reached from outside, as far as the deployment says so.
package struct PublicAddress: Sendable {
    /// Such as `https://users.example.com`; nil when the deployment does not say.
    package let url: String?

    package init(url: String?) {
        self.url = url
    }

    /// The public URL with another host name, by the same scheme and port and without a path; nil without one.
    package func url(onHost name: String) -> String? { url.map { PublicURL($0).withHost(name) } }

    /// The scheme, the host name and the port, as browsers name where a page comes from; nil without one.
    package var origin: String? { host.flatMap { url(onHost: $0) } }

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
