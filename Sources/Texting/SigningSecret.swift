import Crypto
import FoundationEssentials

/// The secret that we share with a gateway, and how a request is signed with it (Standard Webhooks 1.0,
/// https://www.standardwebhooks.com).
package struct SigningSecret: Sendable {
    private let key: SymmetricKey

    /// Reads `whsec_` and the base64 of 24 to 64 bytes; nil for anything else.
    package init?(_ text: String) {
        let prefix = "whsec_"
        guard text.utf8.starts(with: prefix.utf8),
            let bytes = Data(base64Encoded: String(text.dropFirst(prefix.count))), (24...64).contains(bytes.count)
        else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// The value of `webhook-signature`, over what goes out byte for byte.
    func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array("\(id).\(timestamp).".utf8) + body, using: key)
        return "v1," + Data(code).base64EncodedString()
    }
}
