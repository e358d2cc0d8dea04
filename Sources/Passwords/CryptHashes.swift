import CCrypt
import Encodings

/// A hash of bcrypt: `$2b$12$`, 22 characters of salt and 31 of the hash.
///
/// bcrypt reads only the first 72 bytes of a password. For a longer password, the system from which the hash was
/// imported compared only these bytes. The first login to this service does so, too, and then stores a new hash of the
/// whole password.
struct BcryptHash: PasswordHash {
    private let setting: String
    private let hash: [UInt8]

    private static let characters = 22 + 31

    init(_ fields: HashFields) throws(ForeignHashProblem) {
        let rest = try fields.rest(2)
        guard rest[0].utf8.count == 2, rest[0].utf8.allSatisfy(\.isASCIIDigit), let cost = Int(rest[0]),
            rest[1].utf8.count == Self.characters, rest[1].utf8.allSatisfy(Crypt.isCharacter)
        else { throw .malformed("it is not a cost of two digits and \(Self.characters) characters") }
        // A cost of 14 takes about a second. Each step beyond it doubles the time.
        guard (4...14).contains(cost) else { throw .costly("its cost is outside 4 to 14") }
        // `2a`, `2b` and `2y` are the same algorithm. libxcrypt computes some passwords differently under `2a`, because
        // of a former bug of its own. Other systems that write `2a` never had that bug.
        setting = "$2y$\(rest[0])$\(rest[1].prefix(22))"
        hash = Array(rest[1].utf8.suffix(31))
    }

    func matches(_ password: [UInt8]) -> Bool? {
        Crypt.crypt(password, setting).map { $0.suffix(31).isEqualInConstantTime(to: hash) }
    }
}

/// A hash of SHA-crypt, `$5$` with SHA-256 and `$6$` with SHA-512: `$6$rounds=5000$`, salt and hash.
struct SHACryptHash: PasswordHash {
    private let setting: String
    private let hash: [UInt8]

    init(_ fields: HashFields) throws(ForeignHashProblem) {
        var rest = fields.rest
        var setting = fields.scheme + "$"
        if rest.count == 3 {
            let rounds = try HashFields.parameters(rest.removeFirst(), ["rounds"]).number("rounds", in: 1000...500_000)
            setting += "rounds=\(rounds)$"
        }
        let length = fields.scheme == "$5" ? 43 : 86
        guard rest.count == 2, rest[0].utf8.count <= 16, rest[1].utf8.count == length,
            rest.allSatisfy({ $0.utf8.allSatisfy(Crypt.isCharacter) })
        else { throw .malformed("it is not a salt of up to 16 characters and \(length) characters") }
        self.setting = setting + rest[0] + "$"
        hash = Array(rest[1].utf8)
    }

    func matches(_ password: [UInt8]) -> Bool? {
        Crypt.crypt(password, setting).map { $0.suffix(hash.count).isEqualInConstantTime(to: hash) }
    }
}

/// The functions of libxcrypt.
private enum Crypt {
    /// Returns whether a byte is one of the 64 characters in the text form of salts and hashes.
    static func isCharacter(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "/")
    }

    /// Hashes a password with libxcrypt; nil when libxcrypt refuses the setting.
    ///
    /// The setting is the beginning of a stored hash, with the scheme, its parameters and the salt. The result is the
    /// setting followed by the hash.
    static func crypt(_ password: [UInt8], _ setting: String) -> [UInt8]? {
        let size = MemoryLayout<crypt_data>.size
        let data = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: MemoryLayout<crypt_data>.alignment)
        defer { data.deallocate() }
        data.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        let phrase = password.map { CChar(bitPattern: $0) } + [0]
        guard let result = crypt_rn(phrase, setting, data, Int32(size)) else { return nil }
        return Array(String(cString: result).utf8)
    }
}
