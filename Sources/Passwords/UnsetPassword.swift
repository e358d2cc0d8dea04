package import Domain
import Encodings

/// The hash in the place of a password that the service does not have.
///
/// An imported user without a usable hash has a login name, and so needs a stored password. Its hash is that of a
/// random password. A check of it takes as long as any other, and no password matches. Its salt is fixed. By the salt,
/// the service recognizes the hash once it is decrypted, and can ask a former system for the password
/// (`PasswordSource`).
package enum UnsetPassword {
    private static let salt = Array("no password here".utf8)

    /// Makes the hash of a new random password.
    ///
    /// Nil when memory is short.
    package static func hash(random: RandomSource) -> Secret? {
        Argon2.hash(random.bytes(Argon2.tagBytes), salt: salt).map { Secret($0) }
    }

    /// Returns whether the text form of a hash stands for a missing password.
    package static func isHash(_ text: Secret) -> Bool {
        guard let fields = try? HashFields(text), fields.scheme == "$argon2id", fields.rest.count == 4,
            let bytes = try? HashFields.bytes(fields.rest[2])
        else { return false }
        return bytes == salt
    }
}
