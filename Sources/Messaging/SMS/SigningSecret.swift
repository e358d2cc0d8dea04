import Crypto
import FoundationEssentials

/// A secret that the service and a gateway share.
///
/// The service signs its requests to the gateway with it. The signature follows Standard Webhooks 1.0
/// (https://www.standardwebhooks.com).
package struct SigningSecret: Sendable {
    private let key: SymmetricKey

    /// Parses `whsec_` and the base64 of 24 to 64 bytes; nil for any other text.
    package init?(_ text: String) {
        let prefix = "whsec_"
        guard text.utf8.starts(with: prefix.utf8),
            let bytes = Data(base64Encoded: String(text.dropFirst(prefix.count))), (24...64).contains(bytes.count)
        else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// Returns the value of the header `webhook-signature` for a request.
    ///
    /// The body must be sent with exactly the given bytes.
    func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array("\(id).\(timestamp).".utf8) + body, using: key)
        return "v1," + Data(code).base64EncodedString()
    }
}
