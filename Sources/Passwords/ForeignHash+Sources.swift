package import Vocabulary

/// What hashes of Firebase Authentication have in common in one project, as its console shows it.
package struct FirebaseScryptParameters: Sendable {
    /// `base64_signer_key`, as base64. Whoever has it can check guesses.
    let signerKey: Secret
    /// `base64_salt_separator`, as base64.
    let saltSeparator: String
    let rounds: Int
    let memoryCost: Int

    package init(signerKey: Secret, saltSeparator: String, rounds: Int, memoryCost: Int) {
        self.signerKey = signerKey
        self.saltSeparator = saltSeparator
        self.rounds = rounds
        self.memoryCost = memoryCost
    }
}

/// Hashes of systems that keep their parts in columns of their own.
extension ForeignHash {
    /// A hash of Firebase Authentication, in the text form that Supabase has for it.
    package static func firebaseScrypt(
        hash: [UInt8],
        salt: [UInt8],
        parameters: FirebaseScryptParameters
    ) throws(ForeignHashProblem) -> ForeignHash {
        let project = "ss=\(parameters.saltSeparator),sk=\(parameters.signerKey.reveal())"
        return try ForeignHash(
            Secret(
                "$fbscrypt$v=1,n=\(parameters.memoryCost),r=\(parameters.rounds),p=1,\(project)$\(Base64.encode(salt))$\(Base64.encode(hash))"
            )
        )
    }

    /// A hash of scrypt (RFC 7914).
    ///
    /// - Parameter costExponent: The binary logarithm of `N`.
    package static func scrypt(
        hash: [UInt8],
        salt: [UInt8],
        costExponent: Int,
        blockSize: Int,
        parallelism: Int
    ) throws(ForeignHashProblem) -> ForeignHash {
        let parameters = "ln=\(costExponent),r=\(blockSize),p=\(parallelism)"
        return try ForeignHash(Secret("$scrypt$\(parameters)$\(Base64.encode(salt))$\(Base64.encode(hash))"))
    }

    /// What PBKDF2 and salted digests are made with.
    package enum Digest: String, Sendable, CaseIterable {
        case md5
        case sha1
        case sha256
        case sha512
    }

    /// A hash of PBKDF2 (RFC 8018) with HMAC; not with MD5, which nobody uses for it.
    package static func pbkdf2(
        _ digest: Digest,
        hash: [UInt8],
        salt: [UInt8],
        iterations: Int
    ) throws(ForeignHashProblem) -> ForeignHash {
        let parameters = "i=\(iterations),l=\(hash.count)"
        let parts = "\(Base64.encode(salt))$\(Base64.encode(hash))"
        return try ForeignHash(Secret("$pbkdf2-\(digest.rawValue)$\(parameters)$\(parts)"))
    }

    /// Where the salt stands of what a digest is made of.
    package enum SaltPosition: String, Sendable {
        case before
        case after
    }

    /// A digest of salt and password, one behind the other; without a salt where there was none.
    package static func saltedDigest(
        _ digest: Digest,
        hash: [UInt8],
        salt: [UInt8],
        position: SaltPosition
    ) throws(ForeignHashProblem) -> ForeignHash {
        let parts = "\(Base64.encode(salt))$\(Base64.encode(hash))"
        return try ForeignHash(Secret("$digest-\(digest.rawValue)$salt=\(position.rawValue)$\(parts)"))
    }

    /// A hash of ASP.NET Core Identity, version 2 or 3, as its column `PasswordHash` has it.
    package static func aspNetIdentity(_ text: Secret) throws(ForeignHashProblem) -> ForeignHash {
        guard text.byteCount <= HashFields.longestText, let bytes = Base64.decode(text.reveal().utf8) else {
            throw .malformed("it is not base64")
        }
        let content = bytes.dropFirst()
        switch bytes.first {
        case 0 where content.count == 48:
            return try pbkdf2(.sha1, hash: Array(content.suffix(32)), salt: Array(content.prefix(16)), iterations: 1000)
        case 1 where content.count > 12:
            let numbers = [0, 4, 8].map { start in
                content.dropFirst(start).prefix(4).reduce(0) { $0 << 8 | Int($1) }
            }
            let digests: [Int: Digest] = [0: .sha1, 1: .sha256, 2: .sha512]
            guard let digest = digests[numbers[0]], numbers[2] <= content.count - 12 else {
                throw .malformed("its header is none of ASP.NET Core Identity")
            }
            let parts = content.dropFirst(12)
            return try pbkdf2(
                digest,
                hash: Array(parts.dropFirst(numbers[2])),
                salt: Array(parts.prefix(numbers[2])),
                iterations: numbers[1]
            )
        default:
            throw .malformed("its header is none of ASP.NET Core Identity")
        }
    }
}
