package import Vocabulary

/// Why the hash of a password is not taken.
package enum ForeignHashProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// It has none of the forms that are known.
    case unknownForm
    /// It has not what its form asks for.
    case malformed(String)
    /// To check a password against it would take more time or memory than one login may.
    case costly(String)

    /// Says nothing of the hash itself.
    package var description: String {
        switch self {
        case .unknownForm: "the hash of the password has none of the forms that are known"
        case .malformed(let why): "the hash of the password is malformed: \(why)"
        case .costly(let why): "the hash of the password takes too much time or memory to check: \(why)"
        }
    }
}

/// The hash of a password in a text form that says how it was made: ours, or that of another system
/// (docs/security.md#hashes-of-other-systems).
///
/// A check takes at most about a second of a core and 64 MiB: what would take more is refused when it is read.
package struct ForeignHash: Sendable {
    /// What is sealed and stored.
    ///
    /// With a hash of Firebase's it holds the signer key of the project.
    package let text: Secret
    private let hash: any PasswordHash

    /// Reads a text form.
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

    /// Whether it was made as new ones are.
    var isCurrent: Bool { hash.isCurrent }

    /// Whether it is the hash of these bytes; nil when that cannot be computed.
    func matches(_ password: [UInt8]) -> Bool? { hash.matches(password) }
}

/// `•••`, however it is printed, since what it was read into has the parts of the secret.
extension ForeignHash: CustomStringConvertible, CustomReflectable {
    package var description: String { text.description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A hash of one scheme.
protocol PasswordHash: Sendable {
    /// Whether it was made as new ones are.
    var isCurrent: Bool { get }

    /// Whether it is the hash of these bytes, of which there are 1 to `PasswordRules.mostBytes` and none is NUL; nil
    /// when that cannot be computed.
    func matches(_ password: [UInt8]) -> Bool?
}

extension PasswordHash {
    var isCurrent: Bool { false }
}
