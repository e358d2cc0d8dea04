package import Vocabulary

/// What a password may be (docs/security.md#passwords): long enough, not too long, and none that is guessed first.
///
/// Nothing else is asked: no kinds of characters, no hints, no end.
package struct PasswordPolicy: Sendable {
    /// Whether it could be anybody's password: what is longer, empty, or holds a NUL is none, and is not hashed.
    package static func canBePassword(_ password: Secret) -> Bool {
        (1...PasswordRules.mostBytes).contains(password.byteCount) && !password.reveal().utf8.contains(0)
    }

    /// Checks a new password.
    ///
    /// - Parameters:
    ///   - password: What the person chose.
    ///   - fewest: Code points of the shortest password, in NFC.
    ///   - names: What an attacker would try first: the login, names of the person, the application.
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
