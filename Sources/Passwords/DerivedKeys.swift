import Crypto
import CryptoExtras
import Encodings

/// A hash of scrypt (RFC 7914): `$scrypt$ln=14,r=8,p=1$`, salt and key.
struct ScryptHash: PasswordHash {
    private let cost: ScryptCost
    private let salt: [UInt8]
    private let key: [UInt8]

    init(_ fields: HashFields) throws(ForeignHashProblem) {
        let rest = try fields.rest(3)
        let parameters = try HashFields.parameters(rest[0], ["ln", "r", "p"])
        cost = try ScryptCost(parameters, exponent: "ln")
        salt = try HashFields.bytes(rest[1])
        key = try HashFields.bytes(rest[2])
        guard salt.count <= 64, (16...64).contains(key.count) else {
            throw .malformed("its salt or its key has another length than is used")
        }
    }

    func matches(_ password: [UInt8]) -> Bool? {
        cost.key(of: password, salt: salt, bytes: key.count)?.isEqualInConstantTime(to: key)
    }
}

/// A hash of Firebase Authentication: `$fbscrypt$v=1,n=14,r=8,p=1,ss=…,sk=…$`, salt and hash.
///
/// The hash is the project's signer key, encrypted by AES-256-CTR with a key that scrypt derives from the password
/// (github.com/firebase/scrypt).
struct FirebaseScryptHash: PasswordHash {
    private let cost: ScryptCost
    /// The user's salt, followed by the project's salt separator.
    private let salt: [UInt8]
    private let signerKey: [UInt8]
    private let hash: [UInt8]

    init(_ fields: HashFields) throws(ForeignHashProblem) {
        let rest = try fields.rest(3)
        let parameters = try HashFields.parameters(rest[0], ["v", "n", "r", "p", "ss", "sk"])
        guard parameters["v"] == "1" else { throw .malformed("its version is unknown") }
        cost = try ScryptCost(parameters, exponent: "n")
        let separator = try HashFields.bytes(parameters["ss"] ?? "")
        signerKey = try HashFields.bytes(parameters["sk"] ?? "")
        salt = try HashFields.bytes(rest[1]) + separator
        hash = try HashFields.bytes(rest[2])
        guard salt.count <= 64, (16...128).contains(signerKey.count), hash.count == signerKey.count else {
            throw .malformed("its salt, its signer key or its hash has another length than Firebase's")
        }
    }

    func matches(_ password: [UInt8]) -> Bool? {
        guard let key = cost.key(of: password, salt: salt, bytes: 64)?.prefix(32),
            let counter = try? AES._CTR.Nonce(nonceBytes: [UInt8](repeating: 0, count: 16)),
            let computed = try? AES._CTR.encrypt(signerKey, using: SymmetricKey(data: Array(key)), nonce: counter)
        else { return nil }
        return computed.isEqualInConstantTime(to: hash)
    }
}

/// The cost of scrypt: 128 × N × r bytes of memory, and p passes over them.
private struct ScryptCost {
    private let exponent: Int
    private let blockSize: Int
    private let parallelism: Int

    /// Reads `r`, `p` and the binary logarithm of `N` from the parameters of a hash, and checks them.
    ///
    /// The caller passes the name of the logarithm, such as `ln`, which depends on the text form of the hash.
    init(_ parameters: [String: Substring], exponent name: String) throws(ForeignHashProblem) {
        exponent = try parameters.number(name, in: 1...19)
        // swift-crypto underestimates the memory for larger block sizes, and refuses them.
        blockSize = try parameters.number("r", in: 1...16)
        parallelism = try parameters.number("p", in: 1...64)
        guard blockSize << exponent <= 524_288 else { throw .costly("it asks for more than 64 MiB") }
        guard (blockSize * parallelism) << exponent <= 2_097_152 else {
            throw .costly("it asks for more than 256 MiB to be gone through")
        }
        // RFC 7914 §6: N is less than 2 to the power of 128 × r / 8.
        guard exponent < 16 * blockSize else { throw .malformed("its N is too large for its r") }
    }

    func key(of password: [UInt8], salt: [UInt8], bytes: Int) -> [UInt8]? {
        let key = try? KDF.Scrypt.deriveKey(
            from: password,
            salt: salt,
            outputByteCount: bytes,
            rounds: 1 << exponent,
            blockSize: blockSize,
            parallelism: parallelism
        )
        return key?.withUnsafeBytes { Array($0) }
    }
}

/// A hash of PBKDF2 with HMAC (RFC 8018), in one of three forms.
///
/// - `$pbkdf2-sha256$i=600000,l=32$`, salt and key: the form of Auth0 and the PHC,
/// - `$pbkdf2-sha256$600000$`, salt and key: the form of passlib, where `$pbkdf2` uses SHA-1,
/// - `pbkdf2_sha256$600000$`, salt and key: the form of Django, which uses the salt's characters without decoding them.
struct PBKDF2Hash: PasswordHash {
    private let function: KDF.Insecure.PBKDF2.HashFunction
    private let iterations: Int
    private let salt: [UInt8]
    private let key: [UInt8]

    /// The hash functions by scheme, with the size in bytes of one block.
    static let functions: [String: (function: KDF.Insecure.PBKDF2.HashFunction, bytes: Int)] = [
        "$pbkdf2": (.insecureSHA1, 20), "$pbkdf2-sha1": (.insecureSHA1, 20), "pbkdf2_sha1": (.insecureSHA1, 20),
        "$pbkdf2-sha256": (.sha256, 32), "pbkdf2_sha256": (.sha256, 32), "$pbkdf2-sha512": (.sha512, 64),
    ]

    /// The maximum product of iterations and blocks, which takes about a second with SHA-512.
    private static let maxWork = 2_000_000

    init(_ fields: HashFields) throws(ForeignHashProblem) {
        guard let (function, bytes) = Self.functions[fields.scheme] else { throw .unknownForm }
        let rest = try fields.rest(3)
        let isDjango = !fields.scheme.hasPrefix("$")
        salt = isDjango ? Array(rest[1].utf8) : try HashFields.bytes(rest[1])
        key = try HashFields.bytes(rest[2])
        guard salt.count <= 128, (16...128).contains(key.count) else {
            throw .malformed("its salt or its key has another length than is used")
        }
        let max = Self.maxWork / ((key.count + bytes - 1) / bytes)
        let written: [String: Substring]
        if rest[0].contains("=") {
            written = try HashFields.parameters(rest[0], ["i", "l"])
            guard try written["l"].map(HashFields.number) ?? key.count == key.count else {
                throw .malformed("its key has not the length that it says")
            }
        } else {
            written = ["i": rest[0]]
        }
        iterations = try written.number("i", in: 1...max)
        self.function = function
    }

    func matches(_ password: [UInt8]) -> Bool? {
        let computed = try? KDF.Insecure.PBKDF2.deriveKey(
            from: password,
            salt: salt,
            using: function,
            outputByteCount: key.count,
            unsafeUncheckedRounds: iterations
        )
        return computed?.withUnsafeBytes { $0.isEqualInConstantTime(to: key) }
    }
}
