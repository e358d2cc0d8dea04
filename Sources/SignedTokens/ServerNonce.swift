package import Crypto
package import Vocabulary

/// A nonce that the service gives out for one ID token: 43 characters of base64url.
///
/// It carries the time and our mark, so that nothing has to be kept until it is used: whoever asks for nonces without
/// end fills no table and takes none away from others. That it is used once is a matter of the write. Layout: 4 bytes
/// of Unix seconds, 12 random ones, 16 of HMAC-SHA256 over the application, the provider's name and the 16 in front.
package enum ServerNonce {
    /// How long it can be used.
    package static let seconds: Int64 = 600
    /// Random bytes in each.
    package static let randomBytes = 12
    private static let timeBytes = 4
    private static let markBytes = 16

    /// Makes a nonce.
    ///
    /// - Parameters:
    ///   - random: As many random bytes as `randomBytes` says.
    ///   - provider: At which one, as the application calls it.
    ///   - application: Who may use it.
    ///   - now: Unix seconds.
    ///   - key: The key of our mark.
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

    /// Whether the text is a nonce that we gave out to this application for that provider in the last ten minutes.
    ///
    /// - Parameters:
    ///   - nonce: Any text.
    ///   - provider: At which one it is used.
    ///   - application: Who got it.
    ///   - now: Unix seconds. Another instance gave it out, whose clock may be ahead by the tolerance of
    ///     `IDTokenCheck`.
    ///   - keys: The keys of our mark, the present one and those before it.
    /// - Returns: Whether it is; not whether it has been used.
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

    /// No name has the zero byte that ends it here.
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
