import Domain

/// How the passwords of a project of Firebase were hashed; users come with a hash and a salt.
///
/// Firebase exports its own scrypt. A backend that imports users may bring hashes of other systems.
package enum FirebaseHashing: Sendable {
    case firebaseScrypt(FirebaseScryptParameters)
    /// The hash is the text of bcrypt, and there is no salt beside it.
    case bcrypt
    /// PBKDF2 with HMAC and the given hash function, SHA-1 or SHA-256.
    case pbkdf2(ForeignHash.Digest, rounds: Int)
    /// scrypt (RFC 7914), with the binary logarithm of its cost.
    case scrypt(logCost: Int, blockSize: Int, parallelism: Int)
    /// A digest of the salt and the password.
    case digest(ForeignHash.Digest, ForeignHash.SaltPosition)

    /// Returns a user's hash in the text form of its scheme.
    ///
    /// - Throws: The reason why no password can be checked with it.
    package func hash(_ hash: [UInt8], salt: [UInt8]) throws(ForeignHashProblem) -> ForeignHash {
        func encoded(_ head: String) throws(ForeignHashProblem) -> ForeignHash {
            try ForeignHash(Secret("\(head)$\(Base64.encode(salt))$\(Base64.encode(hash))"))
        }
        switch self {
        case .firebaseScrypt(let parameters):
            return try .firebaseScrypt(hash: hash, salt: salt, parameters: parameters)
        case .bcrypt:
            guard let text = String(validating: hash, as: UTF8.self) else { throw .unknownForm }
            return try ForeignHash(Secret(text))
        case .pbkdf2(let digest, let rounds): return try encoded("$pbkdf2-\(digest.rawValue)$i=\(rounds)")
        case .scrypt(let logCost, let blockSize, let parallelism):
            return try encoded("$scrypt$ln=\(logCost),r=\(blockSize),p=\(parallelism)")
        case .digest(let digest, let position):
            return try .saltedDigest(digest, hash: hash, salt: salt, position: position)
        }
    }
}
