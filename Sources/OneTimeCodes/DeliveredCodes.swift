package import Crypto
package import Domain

/// One-time codes for delivery by SMS or by mail: six digits.
///
/// A code is computed from its purpose, so that no code is stored.
package struct DeliveredCodes: Sendable {
    private let key: SymmetricKey

    /// Creates the codes of a key.
    ///
    /// - Parameter key: A key that has no other use.
    package init(key: SymmetricKey) { self.key = key }

    /// Returns the code for a purpose: the same bytes have the same code, and no other purpose may have these bytes.
    package func code(for purpose: [UInt8]) -> Secret { Secret(digits(for: purpose).text) }

    /// Returns whether a user's input is the code for a purpose, in constant time.
    package func isCode(_ text: String, for purpose: [UInt8]) -> Bool {
        SixDigits(typed: text)?.isSame(as: digits(for: purpose)) ?? false
    }

    /// Returns the digits for a purpose, with a negligible bias.
    ///
    /// Of 2^64 numbers as many end in one code as in another, give or take one: no code is more likely than another by
    /// more than one part in 10^13.
    private func digits(for purpose: [UInt8]) -> SixDigits {
        let code = HMAC<SHA256>.authenticationCode(for: purpose, using: key)
        return SixDigits(lastOf: code.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }
}
