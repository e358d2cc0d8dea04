import Vocabulary

/// 256 random bits as 43 characters of base64url, to be given out and to come back once; the database knows their hash only.
struct OneTimeToken: Sendable {
    let secret: Secret

    init() { secret = Secret(Base64URL.encode(Random.bytes(32))) }

    /// A text that came back; nil when it cannot be one of ours, which saves asking the database.
    init?(received text: String) {
        guard text.utf8.count == 43, text.utf8.allSatisfy(Base64URL.isCharacter) else { return nil }
        secret = Secret(text)
    }

    var hash: [UInt8] { Digest.sha256(secret.reveal()) }
}
