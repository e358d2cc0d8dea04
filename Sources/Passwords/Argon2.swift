import CArgon2
import Encodings

/// Hashes passwords with Argon2id, by the library libargon2.
///
/// A hash takes tens of milliseconds, and as much memory as its parameters say.
enum Argon2 {
    /// The memory of a new hash: 19 MiB.
    ///
    /// The other parameters of Argon2 are two passes and one lane, which means no parallelism. See
    /// docs/security.md#passwords.
    static let memoryKiB: UInt32 = 19_456
    static let passes: UInt32 = 2
    static let lanes: UInt32 = 1
    static let saltBytes = 16
    static let tagBytes = 32

    /// Hashes a password; returns the text form of libargon2: `$argon2id$v=19$m=19456,t=2,p=1$…$…` with salt and hash.
    ///
    /// Nil when memory is short.
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
}

/// A password hash of Argon2i, Argon2d or Argon2id, in the text form of libargon2.
///
/// This service or another system has made the hash.
struct Argon2Hash: PasswordHash {
    private let type: Argon2_type
    private let version: UInt32
    private let memoryKiB: UInt32
    private let passes: UInt32
    private let lanes: UInt32
    private let salt: [UInt8]
    private let tag: [UInt8]

    /// The maximum memory of a hash: 64 MiB.
    private static let maxMemoryKiB = 65_536
    /// The maximum product of memory and passes, in KiB: 1 GiB, which takes about a second.
    private static let maxWorkKiB = 1_048_576

    /// The version numbers of Argon2, by their texts in a hash.
    ///
    /// Version 19 dates from 2016. A hash without a version has version 16.
    private static let versions: [String: UInt32] = ["v=16": 0x10, "v=19": 0x13]

    init(_ fields: HashFields) throws(ForeignHashProblem) {
        type = fields.scheme == "$argon2id" ? Argon2_id : fields.scheme == "$argon2i" ? Argon2_i : Argon2_d
        var rest = fields.rest
        if rest.count == 4 {
            guard let version = Self.versions[String(rest.removeFirst())] else {
                throw .malformed("its version is unknown")
            }
            self.version = version
        } else {
            version = 0x10
        }
        guard rest.count == 3 else { throw .malformed("it has another number of fields than \(fields.scheme) has") }
        let parameters = try HashFields.parameters(rest[0], ["m", "t", "p"])
        let lanes = try parameters.number("p", in: 1...16)
        let memory = try parameters.number("m", in: 8 * lanes...Self.maxMemoryKiB)
        let passes = try parameters.number("t", in: 1...Self.maxWorkKiB / memory)
        (self.lanes, memoryKiB, self.passes) = (UInt32(lanes), UInt32(memory), UInt32(passes))
        salt = try HashFields.bytes(rest[1])
        tag = try HashFields.bytes(rest[2])
        guard (8...64).contains(salt.count), (16...64).contains(tag.count) else {
            throw .malformed("its salt or its tag has another length than is used")
        }
    }

    /// Whether the hash has the parameters of new hashes.
    ///
    /// Any other parameters count as outdated, even stronger ones. A login replaces an outdated hash. So in time, all
    /// checks of passwords take the same time and the amount of memory that operators plan for.
    var isCurrent: Bool {
        type == Argon2_id && version == 0x13 && memoryKiB == Argon2.memoryKiB && passes == Argon2.passes
            && lanes == Argon2.lanes && salt.count == Argon2.saltBytes && tag.count == Argon2.tagBytes
    }

    func matches(_ password: [UInt8]) -> Bool? {
        var (password, salt) = (password, salt)
        var computed = [UInt8](repeating: 0, count: tag.count)
        let status = password.withUnsafeMutableBufferPointer { password in
            salt.withUnsafeMutableBufferPointer { salt in
                computed.withUnsafeMutableBufferPointer { computed in
                    var context = argon2_context()
                    context.out = computed.baseAddress
                    context.outlen = UInt32(computed.count)
                    context.pwd = password.baseAddress
                    context.pwdlen = UInt32(password.count)
                    context.salt = salt.baseAddress
                    context.saltlen = UInt32(salt.count)
                    (context.t_cost, context.m_cost, context.version) = (passes, memoryKiB, version)
                    // One thread computes all lanes: `HashingThreads` bounds the concurrency.
                    (context.lanes, context.threads) = (lanes, 1)
                    return argon2_ctx(&context, type)
                }
            }
        }
        guard status == ARGON2_OK.rawValue else { return nil }
        return computed.isEqualInConstantTime(to: tag)
    }
}
