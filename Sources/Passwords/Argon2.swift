import CArgon2
import Vocabulary

/// Argon2id of libargon2: computes for tens of milliseconds, in as much memory as its parameters say.
enum Argon2 {
    /// The parameters of new hashes: 19 MiB, two passes, one lane (docs/security.md#passwords).
    static let memoryKiB: UInt32 = 19_456
    static let passes: UInt32 = 2
    static let lanes: UInt32 = 1
    static let saltBytes = 16
    static let tagBytes = 32

    /// The most memory that a stored hash may ask for, in KiB: more is none of ours.
    private static let mostMemoryKiB: UInt32 = 4 * memoryKiB
    /// Bytes of the longest encoded hash that is read.
    private static let longestEncoding = 256

    /// Salt, tag and parameters as libargon2 writes them: `$argon2id$v=19$m=19456,t=2,p=1$…$…`; nil when memory is
    /// short.
    static func hash(_ password: [UInt8], salt: [UInt8]) -> String? {
        let length = argon2_encodedlen(passes, memoryKiB, lanes, UInt32(saltBytes), UInt32(tagBytes), Argon2_id)
        var encoded = [CChar](repeating: 0, count: length)
        let status = argon2id_hash_encoded(
            passes,
            memoryKiB,
            lanes,
            password,
            password.count,
            salt,
            salt.count,
            tagBytes,
            &encoded,
            encoded.count
        )
        guard status == ARGON2_OK.rawValue else { return nil }
        return String(decoding: encoded.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether it is the hash of the password; nil when it is no hash of Argon2id that can be computed.
    static func verify(_ password: [UInt8], against encoded: String) -> Bool? {
        guard let parameters = Parameters(encoded), parameters.memoryKiB <= mostMemoryKiB else { return nil }
        switch argon2id_verify(encoded, password, password.count) {
        case ARGON2_OK.rawValue: return true
        case ARGON2_VERIFY_MISMATCH.rawValue: return false
        default: return nil
        }
    }

    /// Whether a hash was made with weaker parameters than those of new ones.
    static func isOutdated(_ encoded: String) -> Bool {
        guard let parameters = Parameters(encoded) else { return true }
        return parameters.memoryKiB < memoryKiB || parameters.passes < passes
    }

    /// What an encoded hash says of its making.
    private struct Parameters {
        var memoryKiB: UInt32 = 0
        var passes: UInt32 = 0

        init?(_ encoded: String) {
            guard encoded.utf8.count <= longestEncoding else { return nil }
            let parts = encoded.utf8.split(separator: UInt8(ascii: "$"))
            guard parts.count == 5, parts[0].elementsEqual("argon2id".utf8) else { return nil }
            for part in parts[2].split(separator: UInt8(ascii: ",")) {
                guard let number = UInt32(String(decoding: part.dropFirst(2), as: UTF8.self)) else { return nil }
                switch part.first {
                case UInt8(ascii: "m"): memoryKiB = number
                case UInt8(ascii: "t"): passes = number
                default: break
                }
            }
        }
    }
}
