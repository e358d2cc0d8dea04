import Crypto

/// SHA-256, the form in which API keys and session tokens are stored.
enum Digest {
    static func sha256(_ text: some StringProtocol) -> [UInt8] {
        Array(SHA256.hash(data: Array(text.utf8)))
    }
}
