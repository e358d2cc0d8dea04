package import Domain
package import HTTPTypes

/// A cookie of the service for its own host alone, which no script reads.
///
/// The prefix `__Host-` keeps other hosts of the domain from setting the cookie, and requires HTTPS. Deployments
/// without HTTPS are for development, on loopback.
package struct BrowserCookie: Sendable {
    /// The requests with which a browser sends the cookie.
    package enum SameSite: String, Sendable {
        /// Only requests that pages of the service cause.
        case strict = "Strict"
        /// Also links of other sites, by which a provider sends a browser back.
        case lax = "Lax"
    }

    private let name: String
    private let isSecure: Bool
    private let sameSite: SameSite

    /// More pairs than a browser sends, even with other cookies of the host.
    private static let mostPairs = 200

    package init(_ name: String, isSecure: Bool, sameSite: SameSite) {
        self.name = isSecure ? "__Host-" + name : name
        self.isSecure = isSecure
        self.sameSite = sameSite
    }

    /// Returns the cookie between the beginning and the end of login dialogs.
    ///
    /// All dialogs of a browser share the cookie, since several may be open at once.
    package static func dialog(isSecure: Bool) -> BrowserCookie {
        BrowserCookie("federation-dialog", isSecure: isSecure, sameSite: .lax)
    }

    /// Returns the value of `Set-Cookie`; without `seconds`, the browser forgets the cookie when it closes.
    package func header(_ value: Secret, seconds: Int64? = nil) -> String {
        let age = seconds.map { "; Max-Age=\($0)" } ?? ""
        let secure = isSecure ? "; Secure" : ""
        return "\(name)=\(value.reveal()); Path=/\(age)\(secure); HttpOnly; SameSite=\(sameSite.rawValue)"
    }

    /// The value of `Set-Cookie` that removes the cookie.
    package var removal: String { header(Secret(""), seconds: 0) }

    /// Returns the cookie's value in a request; nil if the request has none or several.
    package func value(in headers: HTTPFields) -> String? {
        let values = headers[values: .cookie].flatMap { header in
            header.utf8.split(separator: UInt8(ascii: ";"), maxSplits: Self.mostPairs).compactMap { pair -> String? in
                let sides = pair.drop { $0 == UInt8(ascii: " ") }
                    .split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                guard sides.count == 2, sides[0].elementsEqual(name.utf8) else { return nil }
                return String(decoding: sides[1], as: UTF8.self)
            }
        }
        return values.count == 1 ? values.first : nil
    }
}
