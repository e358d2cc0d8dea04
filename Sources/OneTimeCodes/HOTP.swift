import Crypto

/// Computes one-time passwords by counter (RFC 4226), with HMAC-SHA-1, which all authenticator apps use.
enum HOTP {
    /// Returns the 31-bit number that RFC 4226 §5.3 extracts from the HMAC; its last decimal digits are the code.
    static func number(key: SymmetricKey, counter: UInt64) -> UInt32 {
        let code = withUnsafeBytes(of: counter.bigEndian) { message in
            Array(HMAC<Insecure.SHA1>.authenticationCode(for: message, using: key))
        }
        let offset = Int(code[19] & 0x0F)
        return code[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    }
}
