package import Domain

/// The reason why the hash of a password is refused.
package enum ForeignHashProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// The hash has no known form.
    case unknownForm
    /// The hash violates the rules of its form.
    case malformed(String)
    /// The check of a password would take more time or memory than a login may take.
    case costly(String)

    /// The reason as a text, which contains nothing of the hash itself.
    package var description: String {
        switch self {
        case .unknownForm: "the hash of the password has none of the forms that are known"
        case .malformed(let why): "the hash of the password is malformed: \(why)"
        case .costly(let why): "the hash of the password takes too much time or memory to check: \(why)"
        }
    }
}

/// A password hash in a text form that names its scheme.
///
/// This service or another system has made the hash. See docs/security.md#hashes-of-other-systems. The initializer
/// refuses a hash if the check of a password would take more than about a second of one core, or more than 64 MiB.
package struct ForeignHash: Sendable {
    /// The text form, which is encrypted and stored.
    ///
    /// The text form of a Firebase hash contains the signer key of the project.
    package let text: Secret
    private let hash: any PasswordHash

    /// Parses the text form of a password hash.
    package init(_ text: Secret) throws(ForeignHashProblem) {
        let fields = try HashFields(text)
        self.text = text
        hash =
            switch fields.scheme {
            case "$argon2id", "$argon2i", "$argon2d": try Argon2Hash(fields)
            case "$2a", "$2b", "$2y": try BcryptHash(fields)
            case "$5", "$6": try SHACryptHash(fields)
            case "$scrypt": try ScryptHash(fields)
            case "$fbscrypt": try FirebaseScryptHash(fields)
            case let name where PBKDF2Hash.functions[name] != nil: try PBKDF2Hash(fields)
            case let name where SaltedDigest.algorithms[name] != nil: try SaltedDigest(fields)
            default: throw .unknownForm
            }
    }

    /// Whether the hash has the scheme and the parameters of new hashes.
    var isCurrent: Bool { hash.isCurrent }

    /// Returns whether the hash is that of the given password; nil when it cannot be computed.
    func matches(_ password: [UInt8]) -> Bool? { hash.matches(password) }
}

/// Prints every hash as `•••`, since the members of a hash contain parts of the secret.
extension ForeignHash: CustomStringConvertible, CustomReflectable {
    package var description: String { text.description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A parsed password hash of one scheme, such as bcrypt.
protocol PasswordHash: Sendable {
    /// Whether the hash has the scheme and the parameters of new hashes.
    var isCurrent: Bool { get }

    /// Returns whether the hash is that of the given password; nil when it cannot be computed.
    ///
    /// The password has 1 to `PasswordRules.maxBytes` bytes, and none of them is NUL.
    func matches(_ password: [UInt8]) -> Bool?
}

extension PasswordHash {
    var isCurrent: Bool { false }
}
