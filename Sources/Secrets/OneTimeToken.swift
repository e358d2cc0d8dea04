package import Vocabulary

/// 256 random bits as 43 characters of base64url, to be given out and to come back once; the database knows their hash
/// only.
package struct OneTimeToken: Sendable {
    package let secret: Secret

    package init(_ random: RandomSource) { secret = Secret(Base64URL.encode(random.bytes(32))) }

    /// A text that came back; nil when it cannot be one of ours, which saves asking the database.
    package init?(received text: String) {
        guard text.utf8.count == 43, text.utf8.allSatisfy(Base64URL.isCharacter) else { return nil }
        secret = Secret(text)
    }

    package var hash: [UInt8] { Digest.sha256(secret.reveal()) }
}
