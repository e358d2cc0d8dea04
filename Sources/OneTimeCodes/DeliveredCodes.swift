package import Crypto
package import Domain

/// Computes one-time codes of six digits, for delivery by SMS or by mail.
///
/// The codes are not stored: each is computed from a secret key and from the bytes of its purpose.
package struct DeliveredCodes: Sendable {
    private let key: SymmetricKey

    /// Stores the key from which the codes are computed.
    ///
    /// - Parameter key: A key that has no other use.
    package init(key: SymmetricKey) { self.key = key }

    /// Returns the code for a purpose.
    ///
    /// Equal bytes give the same code, so each purpose must have different bytes.
    package func code(for purpose: [UInt8]) -> Secret { Secret(digits(for: purpose).text) }

    /// Returns whether a user's input is the code for a purpose, in constant time.
    package func isCode(_ text: String, for purpose: [UInt8]) -> Bool {
        SixDigits(typed: text)?.isSame(as: digits(for: purpose)) ?? false
    }

    /// Returns the digits for a purpose, with a negligible bias.
    ///
    /// The digits are the end of a number of 64 random bits. For each code there are equally many such numbers, give or
    /// take one. So no code is more likely than another by more than one part in 10^13.
    private func digits(for purpose: [UInt8]) -> SixDigits {
        let code = HMAC<SHA256>.authenticationCode(for: purpose, using: key)
        return SixDigits(lastOf: code.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }
}
