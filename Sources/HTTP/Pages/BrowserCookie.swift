package import HTTPTypes
package import Vocabulary

/// Something of ours that a browser keeps for our host alone, and that no script reads.
///
/// `__Host-` keeps other hosts of the domain from setting it, and takes HTTPS. Deployments without HTTPS are for
/// development, on loopback.
package struct BrowserCookie: Sendable {
    /// With which requests it comes.
    package enum SameSite: String, Sendable {
        /// Those alone that pages of ours cause.
        case strict = "Strict"
        /// Links of other sites besides, by which a provider sends a browser back.
        case lax = "Lax"
    }

    private let name: String
    private let isSecure: Bool
    private let sameSite: SameSite

    /// More than a browser sends; others of the host's may come along.
    private static let mostPairs = 200

    package init(_ name: String, isSecure: Bool, sameSite: SameSite) {
        self.name = isSecure ? "__Host-" + name : name
        self.isSecure = isSecure
        self.sameSite = sameSite
    }

    /// What a browser keeps between the beginning and the end of its login dialogs: one for all of them, since several
    /// may be open at once.
    package static func dialog(isSecure: Bool) -> BrowserCookie {
        BrowserCookie("federation-dialog", isSecure: isSecure, sameSite: .lax)
    }

    /// The value of `Set-Cookie`; without seconds the browser forgets it when it ends.
    package func header(_ value: Secret, seconds: Int64? = nil) -> String {
        let age = seconds.map { "; Max-Age=\($0)" } ?? ""
        let secure = isSecure ? "; Secure" : ""
        return "\(name)=\(value.reveal()); Path=/\(age)\(secure); HttpOnly; SameSite=\(sameSite.rawValue)"
    }

    /// The value of `Set-Cookie` by which the browser forgets it.
    package var removal: String { header(Secret(""), seconds: 0) }

    /// What a request brings; nil when it brings none, or several.
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
