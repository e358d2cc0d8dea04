package import Crypto
package import Domain
import Encodings

/// A nonce that the service issues for one ID token: 43 characters of base64url.
///
/// The nonce contains the time of its issue and a MAC, so the service stores nothing until a login uses the nonce. A
/// client that requests many nonces therefore fills no table. The login stores that the nonce has been used, so it is
/// single-use.
///
/// The layout is 4 bytes of Unix seconds, 12 random bytes, and 16 bytes of MAC. The MAC is an HMAC-SHA256 over the
/// application, the provider's name and the first 16 bytes.
package enum ServerNonce {
    /// The seconds from the issue of a nonce to its expiry.
    package static let seconds: Int64 = 600
    /// The number of random bytes in a nonce.
    package static let randomBytes = 12
    private static let timeBytes = 4
    private static let markBytes = 16

    /// Creates a nonce.
    ///
    /// - Parameters:
    ///   - random: Random bytes, as many as `randomBytes`.
    ///   - provider: The application's name for the provider.
    ///   - application: The application that may use the nonce.
    ///   - now: The current time in Unix seconds.
    ///   - key: The key of the MAC.
    /// - Returns: The nonce.
    package static func make(
        random: [UInt8],
        by provider: ProviderName,
        for application: ApplicationID,
        now: Int64,
        key: SymmetricKey
    ) -> Secret {
        let time = UInt32(clamping: now)
        let body = (0..<timeBytes).map { UInt8(truncatingIfNeeded: time >> UInt32(24 - 8 * $0)) } + random
        return Secret(Base64URL.encode(body + mark(of: body, by: provider, for: application, key: key)))
    }

    /// Returns whether the service issued a nonce, for this application and this provider, in the last ten minutes.
    ///
    /// - Parameters:
    ///   - nonce: Any text.
    ///   - provider: The provider of the login.
    ///   - application: The application of the login.
    ///   - now: The current time in Unix seconds. The clock of the issuing instance may be ahead by the tolerance of
    ///     `IDTokenCheck`.
    ///   - keys: The current key of the MAC and the former ones.
    /// - Returns: Whether the service issued the nonce. It may have been used.
    package static func isOurs(
        _ nonce: Secret,
        by provider: ProviderName,
        of application: ApplicationID,
        now: Int64,
        keys: [SymmetricKey]
    ) -> Bool {
        guard let bytes = Base64URL.decode(nonce.reveal().utf8), bytes.count == timeBytes + randomBytes + markBytes
        else { return false }
        let (body, given) = (Array(bytes.dropLast(markBytes)), Array(bytes.suffix(markBytes)))
        let isMarked = keys.contains { key in
            mark(of: body, by: provider, for: application, key: key).isEqualInConstantTime(to: given)
        }
        let time = body.prefix(timeBytes).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return isMarked && time <= now + IDTokenCheck.tolerance && now - time <= seconds
    }

    /// Returns the MAC of a nonce.
    ///
    /// It covers the application, the provider's name, and the bytes of the nonce before the MAC. In the input of the
    /// MAC, a zero byte ends each name. No name contains a zero byte.
    private static func mark(
        of body: [UInt8],
        by provider: ProviderName,
        for application: ApplicationID,
        key: SymmetricKey
    ) -> [UInt8] {
        let owner = Array(application.text.utf8) + [0] + Array(provider.text.utf8) + [0]
        return Array(HMAC<SHA256>.authenticationCode(for: owner + body, using: key).prefix(markBytes))
    }
}
