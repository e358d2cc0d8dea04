package import Domain

/// The reason why the hash of a password is refused.
package enum ForeignHashProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// The hash has no known form.
    case unknownForm
    /// The hash violates the rules of its form.
    case malformed(String)
    /// The check of a password would take more time or memory than a login may take.
    case costly(String)

    /// The description, which contains nothing of the hash itself.
    package var description: String {
        switch self {
        case .unknownForm: "the hash of the password has none of the forms that are known"
        case .malformed(let why): "the hash of the password is malformed: \(why)"
        case .costly(let why): "the hash of the password takes too much time or memory to check: \(why)"
        }
    }
}

/// The hash of a password in a text form that names its scheme: ours, or another system's.
///
/// See docs/security.md#hashes-of-other-systems. A check takes at most about a second of a core and 64 MiB: costlier
/// hashes are refused when they are read.
package struct ForeignHash: Sendable {
    /// The text form, which is encrypted and stored.
    ///
    /// The text form of a Firebase hash contains the signer key of the project.
    package let text: Secret
    private let hash: any PasswordHash

    /// Parses a text form.
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

    /// Returns whether this is the hash of these bytes; nil when it cannot be computed.
    func matches(_ password: [UInt8]) -> Bool? { hash.matches(password) }
}

/// A hash is always printed as `•••`, since its members contain parts of the secret.
extension ForeignHash: CustomStringConvertible, CustomReflectable {
    package var description: String { text.description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A hash of one scheme.
protocol PasswordHash: Sendable {
    /// Whether the hash has the scheme and the parameters of new hashes.
    var isCurrent: Bool { get }

    /// Returns whether this is the hash of these bytes; nil when it cannot be computed.
    ///
    /// The password has 1 to `PasswordRules.maxBytes` bytes, and none of them is NUL.
    func matches(_ password: [UInt8]) -> Bool?
}

extension PasswordHash {
    var isCurrent: Bool { false }
}
