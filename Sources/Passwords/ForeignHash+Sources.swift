package import Domain

/// The parameters of all hashes in one project of Firebase Authentication, as its console shows them.
package struct FirebaseScryptParameters: Sendable {
    /// The signer key as base64; with it, an attacker who has hashes can check guesses.
    let signerKey: Secret
    /// The salt separator as base64.
    let saltSeparator: String
    let rounds: Int
    let memoryCost: Int

    /// Checks and stores the parameters of a Firebase project's hashes.
    ///
    /// - Throws: The reason why no hash can be checked with these parameters.
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

/// The reason why a text from Firebase's console does not contain valid parameters of hashes.
package enum HashConfigProblem: Error, CustomStringConvertible {
    case lacks(String)
    case unusable(ForeignHashProblem)

    package var description: String {
        switch self {
        case .lacks(let name): "has no \(name), as Firebase's console shows it"
        case .unusable(let problem): "no hash could be checked with this: \(problem)"
        }
    }
}

extension FirebaseScryptParameters {
    /// Reads the parameters that Firebase's console shows, `hash_config { … }`, or the same as JSON.
    package init(hashConfig text: String) throws(HashConfigProblem) {
        func value(_ name: String) throws(HashConfigProblem) -> String {
            guard let start = text.firstRange(of: name)?.upperBound else { throw .lacks(name) }
            let rest = text[start...].drop { "\": =\t".contains($0) }
            let value = rest.prefix { !"\", \t\r\n}".contains($0) }
            guard !value.isEmpty else { throw .lacks(name) }
            return String(value)
        }
        func number(_ name: String) throws(HashConfigProblem) -> Int {
            guard let number = Int(try value(name)) else { throw .lacks(name) }
            return number
        }
        let (key, separator) = (Secret(try value("base64_signer_key")), try value("base64_salt_separator"))
        let (rounds, memoryCost) = (try number("rounds"), try number("mem_cost"))
        do throws(ForeignHashProblem) {
            try self.init(signerKey: key, saltSeparator: separator, rounds: rounds, memoryCost: memoryCost)
        } catch {
            throw .unusable(error)
        }
    }
}

/// Creates the text form of a hash from its parts, which some systems store in separate columns.
extension ForeignHash {
    /// Creates a hash of Firebase Authentication, in Supabase's text form.
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

    /// The hash functions of salted digests.
    package enum Digest: String, Sendable, CaseIterable {
        case md5
        case sha1
        case sha256
        case sha512
    }

    /// The position of the salt in the hashed text.
    package enum SaltPosition: String, Sendable {
        case before
        case after
    }

    /// Creates a hash that is a digest of the salt and the password, concatenated.
    ///
    /// An empty salt means that the digest has no salt.
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
