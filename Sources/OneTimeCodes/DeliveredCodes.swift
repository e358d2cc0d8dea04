package import Crypto
package import Domain

/// Computes one-time codes of six digits, for delivery by SMS or by mail.
///
/// The codes are not stored. Each is computed from a secret key and from bytes that identify the purpose of the code,
/// such as the id of the second factor that the code is for.
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

    /// Returns whether a user's input is the code for a purpose.
    ///
    /// Two codes are compared in constant time.
    package func isCode(_ text: String, for purpose: [UInt8]) -> Bool {
        SixDigits(typed: text)?.isSame(as: digits(for: purpose)) ?? false
    }

    /// Returns the digits for a purpose; all six-digit codes are almost equally likely.
    ///
    /// The digits are the last six decimal digits of a 64-bit number, which is part of an HMAC. The count of 64-bit
    /// numbers that end in a code differs by at most one from code to code. So no code is more likely than another by
    /// more than one part in 10^13.
    private func digits(for purpose: [UInt8]) -> SixDigits {
        let code = HMAC<SHA256>.authenticationCode(for: purpose, using: key)
        return SixDigits(lastOf: code.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }
}
