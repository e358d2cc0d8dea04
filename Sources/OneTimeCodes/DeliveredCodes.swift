package import Crypto
package import Vocabulary

/// Codes that somebody is sent, by SMS or by mail: six digits, computed from what they are for, so that nothing has to
/// be kept of them.
package struct DeliveredCodes: Sendable {
    private let key: SymmetricKey

    /// - Parameter key: A key that has no other use.
    package init(key: SymmetricKey) { self.key = key }

    /// The code for a purpose, which is given as bytes that no other purpose has: the same bytes have the same code.
    package func code(for purpose: [UInt8]) -> Secret { Secret(digits(for: purpose).text) }

    /// Whether somebody has typed the code for a purpose, found out in a time that does not tell how much of it was
    /// right.
    package func isCode(_ text: String, for purpose: [UInt8]) -> Bool {
        SixDigits(typed: text)?.isSame(as: digits(for: purpose)) ?? false
    }

    /// Of 2^64 numbers as many end in one code as in another, but for one: no code is more likely than another by more
    /// than one part in 10^13.
    private func digits(for purpose: [UInt8]) -> SixDigits {
        let code = HMAC<SHA256>.authenticationCode(for: purpose, using: key)
        return SixDigits(lastOf: code.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }
}
