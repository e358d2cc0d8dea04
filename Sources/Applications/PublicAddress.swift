import Encodings

/// The address at which browsers and clients reach the public listener, if the deployment sets it.
package struct PublicAddress: Sendable {
    /// A URL such as `https://users.example.com`; nil when the deployment does not set it.
    package let url: String?

    package init(url: String?) {
        self.url = url
    }

    /// The path at which service accounts get their access tokens: after Google's host name, as in Google's emulator.
    package static let serviceTokenPath = "/oauth2.googleapis.com/token"

    /// Returns the public URL with another host name, the same scheme and port, and no path; nil without a public URL.
    package func url(onHost name: String) -> String? { url.map { PublicURL($0).withHost(name) } }

    /// The origin (scheme, host name and port) of the public URL; nil without a public URL.
    package var origin: String? { host.flatMap { url(onHost: $0) } }

    /// Whether browsers reach the deployment by HTTPS, according to the public URL.
    package var isReachedByTLS: Bool { url?.utf8.starts(with: "https://".utf8) ?? false }

    /// The host name of the public URL, in lower case; nil without a public URL.
    package var host: String? { url.map { PublicURL($0).host } }
}

/// The parts of the public URL.
///
/// The URL was checked when the service started.
struct PublicURL {
    /// The scheme with its slashes, such as `https://`.
    private let scheme: Substring
    /// The host name in lower case.
    let host: String
    /// The port with its colon; empty without a port.
    private let port: String

    init(_ url: String) {
        let slashes = url.firstRange(of: "://")?.upperBound ?? url.startIndex
        scheme = url[..<slashes]
        let authority = url[slashes...].utf8.prefix { $0 != UInt8(ascii: "/") }
        // The colons of an IPv6 address are in brackets.
        let colon = authority.lastIndex(of: UInt8(ascii: ":")).flatMap { colon in
            authority[colon...].dropFirst().allSatisfy(\.isASCIIDigit) ? colon : nil
        }
        host = (String(authority[..<(colon ?? authority.endIndex)]) ?? "").lowercased()
        port = colon.flatMap { String(authority[$0...]) } ?? ""
    }

    func withHost(_ name: String) -> String { "\(scheme)\(name)\(port)" }
}
