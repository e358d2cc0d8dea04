import HTTPTypes
import Hummingbird
import Vocabulary

/// What a browser keeps of ours between the beginning and the end of its login dialogs: one cookie for all of them,
/// since several may be open at once.
///
/// `__Host-` keeps other hosts of the domain from setting it, and takes HTTPS; `Lax` lets it come along when the
/// provider sends the browser back. Deployments without HTTPS are for development, on loopback.
enum DialogCookie {
    private static let attributes = "HttpOnly; SameSite=Lax"
    /// More than a browser sends; others of the host's may come along.
    private static let mostPairs = 200

    static func name(isSecure: Bool) -> String { isSecure ? "__Host-federation-dialog" : "federation-dialog" }

    /// The value of `Set-Cookie`.
    static func written(_ value: Secret, seconds: Int64, isSecure: Bool) -> String {
        let secure = isSecure ? "Secure; " : ""
        return "\(name(isSecure: isSecure))=\(value.reveal()); Path=/; Max-Age=\(seconds); \(secure)\(attributes)"
    }

    /// What a request brings; nil when it brings none, or several.
    static func read(_ headers: HTTPFields, isSecure: Bool) -> String? {
        let name = name(isSecure: isSecure)
        let values = headers[values: .cookie].flatMap { header in
            header.utf8.split(separator: UInt8(ascii: ";"), maxSplits: mostPairs).compactMap { pair -> String? in
                let sides = pair.drop { $0 == UInt8(ascii: " ") }
                    .split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                guard sides.count == 2, sides[0].elementsEqual(name.utf8) else { return nil }
                return String(decoding: sides[1], as: UTF8.self)
            }
        }
        return values.count == 1 ? values.first : nil
    }
}
