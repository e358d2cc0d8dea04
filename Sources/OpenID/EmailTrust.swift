import AuthorizationServers
import Description
import Encodings

/// The addresses for which an issuer is authoritative, so that its claim `email_verified` says who owns the address
/// (decision D6).
struct EmailTrust: Sendable {
    /// The domains in lower case.
    let domains: [String]
    /// The claim with the domain of the user's organization; nil for none.
    let domainClaim: String?

    /// Returns whether the issuer says, and may say, that the user of the claims owns the address in them.
    func confirmsAddress(in claims: JSONObject) -> Bool {
        guard let address = claims["email"]?.string, isTrue(claims["email_verified"]),
            let at = address.utf8.lastIndex(of: UInt8(ascii: "@"))
        else { return false }
        let domain = address[address.index(after: at)...].lowercased()
        let own = domainClaim.flatMap { claims[$0]?.string?.lowercased() }
        return (domains + [own].compactMap(\.self)).contains { $0.hasSameBytes(as: domain) }
    }

    /// Apple writes the claim as a text.
    private func isTrue(_ value: JSONValue?) -> Bool { value?.bool ?? value?.string?.hasSameBytes(as: "true") ?? false }

    static let domain = TextRule(
        "must be a domain in lower case, like example.com",
        pattern: "^[a-z0-9-]{1,63}(\\.[a-z0-9-]{1,63}){1,9}$",
        example: "example.com"
    ) { text in
        text.isJoined(2...10, by: ".", maxBytes: 63) {
            $0.isASCIILowercase || $0.isASCIIDigit || $0 == UInt8(ascii: "-")
        }
    }
}
