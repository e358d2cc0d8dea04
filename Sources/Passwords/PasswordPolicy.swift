package import Domain
import Encodings

/// The policy for passwords (docs/security.md#passwords): a minimum and a maximum length, and no common password.
///
/// There are no other rules: no classes of characters, no hints, no expiry.
package struct PasswordPolicy: Sendable {
    /// Returns whether a text may be a password: 1 to `PasswordRules.maxBytes` bytes without NUL.
    package static func canBePassword(_ password: Secret) -> Bool {
        (1...PasswordRules.maxBytes).contains(password.byteCount) && !password.reveal().utf8.contains(0)
    }

    /// Checks a new password.
    ///
    /// - Parameters:
    ///   - password: The password that the user chose.
    ///   - fewest: The minimum length of the normalized password (NFC), in code points.
    ///   - names: Texts that an attacker would try first: the login name, names of the user, the application.
    /// - Throws: `password_not_allowed`; `errorData.rule` is `tooShort`, `tooLong`, `character` or `common`.
    package static func check(_ password: Secret, fewest: Int64, names: [String]) throws(Failure) {
        guard password.byteCount <= PasswordRules.maxBytes else {
            throw refusal(
                "tooLong",
                "This password is longer than \(PasswordRules.maxBytes) bytes. Choose a shorter one."
            )
        }
        guard !password.reveal().utf8.contains(0) else {
            throw refusal("character", "A password must not contain the character NUL.")
        }
        let normalized = password.reveal().normalized
        guard normalized.unicodeScalars.count >= fewest else {
            throw refusal(
                "tooShort",
                "This password has fewer than \(fewest) characters. Choose a longer one, for example a few words."
            )
        }
        guard !CommonPasswords.shared.makeUp(normalized, or: names) else {
            throw refusal(
                "common",
                "This password is too common and easy to guess. Choose another one, for example a few unrelated words."
            )
        }
    }

    private static func refusal(_ rule: String, _ message: String) -> Failure {
        Failure(.passwordNotAllowed, message, details: ["rule": .string(rule)])
    }
}
