import Crypto

/// SHA-256, the form in which API keys, session tokens and operators' tokens are stored.
package enum Digest {
    package static func sha256(_ text: some StringProtocol) -> [UInt8] {
        Array(SHA256.hash(data: Array(text.utf8)))
    }
}
