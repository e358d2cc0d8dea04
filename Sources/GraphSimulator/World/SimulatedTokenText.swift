import Crypto
import Encodings

/// Makes the texts of tokens and codes in the forms that Facebook uses.
enum TokenText {
    private static let base62 = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    private static let base64URL = base62 + Array("-_".utf8)

    /// Returns the text of a user token: `EAA…ZD` with 180 characters, derived from a name.
    ///
    /// The same name gives the same text, so that a demo's tokens survive a restart.
    static func user(named name: String) -> String {
        var bytes: [UInt8] = []
        for counter in UInt8(0)..<6 {
            bytes.append(contentsOf: SHA256.hash(data: Array(name.utf8) + [0, counter]))
        }
        return user(bytes)
    }

    /// Returns a random text of a user token: `EAA…ZD` with 180 characters.
    static func user(using generator: inout some RandomNumberGenerator) -> String {
        user((0..<175).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// Returns a text in a format that Graph never issues.
    static func garbage(using generator: inout some RandomNumberGenerator) -> String {
        "6b" + alphanumeric(count: 120, using: &generator)
    }

    /// Returns the `client_credentials` token of an app: `id|` and 27 characters that depend on the secret.
    static func app(_ app: App) -> String {
        let key = SymmetricKey(data: Array(app.secret.utf8))
        let code = HMAC<SHA256>.authenticationCode(for: Array("app token of \(app.id)".utf8), using: key)
        let text = code.prefix(27).map { base64URL[Int($0 & 0x3F)] }
        return app.id + "|" + String(decoding: text, as: UTF8.self)
    }

    /// Returns the given number of random characters of base64url.
    ///
    /// Trace ids in responses are made from these characters.
    static func trace(count: Int, using generator: inout some RandomNumberGenerator) -> String {
        text(count: count, from: base64URL, using: &generator)
    }

    /// Returns an authorization code: `AQ` and 198 characters of base64url.
    static func code(using generator: inout some RandomNumberGenerator) -> String {
        "AQ" + text(count: 198, from: base64URL, using: &generator)
    }

    /// Returns the `jti` of an ID token: four letters or digits, a dot, 64 hexadecimal digits.
    static func jti(using generator: inout some RandomNumberGenerator) -> String {
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return alphanumeric(count: 4, using: &generator) + "." + Hexadecimal.encode(bytes)
    }

    /// Returns the given number of random letters and digits.
    static func alphanumeric(count: Int, using generator: inout some RandomNumberGenerator) -> String {
        text(count: count, from: base62, using: &generator)
    }

    private static func user(_ bytes: [UInt8]) -> String {
        "EAA" + String(decoding: bytes.prefix(175).map { base62[Int($0) % base62.count] }, as: UTF8.self) + "ZD"
    }

    private static func text(
        count: Int,
        from alphabet: [UInt8],
        using generator: inout some RandomNumberGenerator
    ) -> String {
        String(unsafeUninitializedCapacity: count) { buffer in
            var bits: UInt64 = 0
            for index in 0..<count {
                if index % 8 == 0 { bits = generator.next() }
                buffer[index] = alphabet[Int(bits & 0xFF) % alphabet.count]
                bits >>= 8
            }
            return count
        }
    }
}

/// A small and fast random number generator, for numbers that need not be secret.
///
/// The same seed gives the same sequence of numbers.
struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
