package import Vocabulary

/// What hashes of Firebase Authentication have in common in one project, as its console shows it.
package struct FirebaseScryptParameters: Sendable {
    /// As base64; whoever has it can check guesses.
    let signerKey: Secret
    /// As base64.
    let saltSeparator: String
    let rounds: Int
    let memoryCost: Int

    /// - Throws: Why no hash can be checked with these parameters.
    package init(
        signerKey: Secret,
        saltSeparator: String,
        rounds: Int,
        memoryCost: Int
    ) throws(ForeignHashProblem) {
        self.signerKey = signerKey
        self.saltSeparator = saltSeparator
        self.rounds = rounds
        self.memoryCost = memoryCost
        // A hash has the length of the signer key, which it encrypts.
        let bytes = try HashFields.bytes(signerKey.reveal()[...])
        _ = try ForeignHash.firebaseScrypt(hash: bytes, salt: [], parameters: self)
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

    /// What salted digests are made with.
    package enum Digest: String, Sendable, CaseIterable {
        case md5
        case sha1
        case sha256
        case sha512
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
}
