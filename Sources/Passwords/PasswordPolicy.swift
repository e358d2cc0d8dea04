package import Domain
import Encodings

/// The policy for passwords (docs/security.md#passwords): a minimum and a maximum length, and no common password.
///
/// There are no other rules: no classes of characters, no hints, no expiry.
package struct PasswordPolicy: Sendable {
    /// Returns whether a text may be a password; an empty text, a longer one, and one with NUL are not hashed.
    package static func canBePassword(_ password: Secret) -> Bool {
        (1...PasswordRules.mostBytes).contains(password.byteCount) && !password.reveal().utf8.contains(0)
    }

    /// Checks a new password.
    ///
    /// - Parameters:
    ///   - password: The password that the user chose.
    ///   - fewest: The minimum length in code points, in NFC.
    ///   - names: Texts that an attacker would try first: the login name, names of the user, the application.
    /// - Throws: `password_not_allowed`; `errorData.rule` is `tooShort`, `tooLong`, `character` or `common`.
    package static func check(_ password: Secret, fewest: Int64, names: [String]) throws(Failure) {
        guard password.byteCount <= PasswordRules.mostBytes else {
            throw refusal(
                "tooLong",
                """
                This password is too long: \(PasswordRules.mostBytes) letters and digits fit, fewer where there are other \
                characters. Choose a shorter one.
                """
            )
        }
        guard !password.reveal().utf8.contains(0) else {
            throw refusal("character", "A password must not hold the character NUL.")
        }
        let normalized = password.reveal().normalized
        guard normalized.unicodeScalars.count >= fewest else {
            throw refusal(
                "tooShort",
                "This password has fewer than \(fewest) characters. Choose a longer one: a few words will do."
            )
        }
        guard !CommonPasswords.shared.makeUp(normalized, or: names) else {
            throw refusal(
                "common",
                "This password is among the first that anybody would guess. Choose another one: a few words that do not belong together."
            )
        }
    }

    private static func refusal(_ rule: String, _ message: String) -> Failure {
        Failure(.passwordNotAllowed, message, details: ["rule": .string(rule)])
    }
}
