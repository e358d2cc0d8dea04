package import Domain
import Encodings

/// A single-use token: 256 random bits as 43 characters of base64url.
///
/// The database contains only its hash.
package struct OneTimeToken: Sendable {
    package let secret: Secret

    package init(_ random: RandomSource) { secret = Secret(Base64URL.encode(random.bytes(32))) }

    /// Parses a token that a client sent.
    ///
    /// Nil if the text does not have the form of a token. The caller then needs no database query.
    package init?(received text: String) {
        guard text.utf8.count == 43, text.utf8.allSatisfy(Base64URL.isCharacter) else { return nil }
        secret = Secret(text)
    }

    package var hash: [UInt8] { Digest.sha256(secret.reveal()) }
}
