package import Domain
package import HTTPTypes

/// A cookie that the service sets, and that browsers send only to the service's own host.
///
/// No script can read the cookie.
///
/// The name has the prefix `__Host-`, which requires HTTPS and keeps other hosts of the domain from setting the cookie.
/// A deployment without HTTPS omits the prefix. Such a deployment is for development, on loopback.
package struct BrowserCookie: Sendable {
    /// The attribute `SameSite`: in which requests browsers send the cookie.
    package enum SameSite: String, Sendable {
        /// Only in requests from pages of the same site, and when the user types the URL of a page.
        case strict = "Strict"
        /// Also when a link or a redirect of another site opens a page of the service.
        ///
        /// After its dialog, a provider sends the browser back by a redirect.
        case lax = "Lax"
    }

    private let name: String
    private let isSecure: Bool
    private let sameSite: SameSite

    /// The maximum number of cookies that the service reads in one request.
    ///
    /// No browser sends more, even if the host has other cookies.
    private static let maxPairs = 200

    package init(_ name: String, isSecure: Bool, sameSite: SameSite) {
        self.name = isSecure ? "__Host-" + name : name
        self.isSecure = isSecure
        self.sameSite = sameSite
    }

    /// Returns the cookie by which the service recognizes a browser that returns from a provider's login dialog.
    ///
    /// All dialogs of a browser share the cookie, since several may be open at once.
    package static func dialog(isSecure: Bool) -> BrowserCookie {
        BrowserCookie("federation-dialog", isSecure: isSecure, sameSite: .lax)
    }

    /// The cookie that Google's script for One Tap sets beside its form.
    package static let oneTap = BrowserCookie("g_csrf_token", isSecure: false, sameSite: .lax)

    /// Returns the value of `Set-Cookie`.
    ///
    /// Without `seconds`, the browser deletes the cookie when the browser closes.
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
            header.utf8.split(separator: UInt8(ascii: ";"), maxSplits: Self.maxPairs).compactMap { pair -> String? in
                let sides = pair.drop { $0 == UInt8(ascii: " ") }
                    .split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                guard sides.count == 2, sides[0].elementsEqual(name.utf8) else { return nil }
                return String(decoding: sides[1], as: UTF8.self)
            }
        }
        return values.count == 1 ? values.first : nil
    }
}
