import Crypto
package import Domain
import Encodings

/// The pseudonyms that the log contains in place of login names, tokens and keys.
///
/// Equal texts have equal pseudonyms.
///
/// A pseudonym is an HMAC with a key derived from the master key. Without the master key, an attacker cannot find the
/// text of a pseudonym, not even by trying all likely e-mail addresses. A text has a different pseudonym in each
/// application, so the log does not show that two applications have the same user.
package struct Pseudonyms: Sendable {
    private let key: SymmetricKey

    package init(_ masterKey: MasterKey) {
        key = masterKey.derivedKey(for: "federation: pseudonyms of the log")
    }

    /// Returns the pseudonym of a text.
    ///
    /// - Parameters:
    ///   - text: The text that must not be in the log.
    ///   - application: The application that received the text; nil when it is unknown, or there is none.
    /// - Returns: 16 hexadecimal digits.
    package func pseudonym(of text: some StringProtocol, in application: ApplicationID?) -> String {
        let message = Array("\(application?.text ?? "")\n\(text)".utf8)
        return Hexadecimal.encode(HMAC<SHA256>.authenticationCode(for: message, using: key).prefix(8))
    }

    /// Returns the pseudonym of a login name.
    ///
    /// The case of letters matters, except in e-mail addresses.
    package func pseudonym(ofLogin text: String, in application: ApplicationID) -> String {
        pseudonym(of: EmailAddress(text)?.login ?? text, in: application)
    }

    /// Returns the pseudonym of the token or code in a request to log in with a provider.
    ///
    /// Nil if the request has neither.
    package func pseudonym(of credential: CredentialFields, in application: ApplicationID) -> String? {
        (credential.accessToken ?? credential.idToken ?? credential.code ?? credential.loginCode)
            .map { pseudonym(of: $0, in: application) }
    }
}
