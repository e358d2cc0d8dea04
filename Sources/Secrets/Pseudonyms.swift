import Crypto
package import Vocabulary

/// What stands in the log for a login, a token or a key: the same for the same text, and of no use to whoever looks for
/// the text.
///
/// An HMAC under a key that is derived from the master key, so that nobody without it can try addresses; of each
/// application another, so that nobody sees from the log who is a user of two.
package struct Pseudonyms: Sendable {
    private let key: SymmetricKey

    package init(_ masterKey: MasterKey) {
        key = masterKey.derivedKey(for: "federation: pseudonyms of the log")
    }

    /// The pseudonym of a text.
    ///
    /// - Parameters:
    ///   - text: What must not be in the log.
    ///   - application: Where it was sent; nil where that is unknown, or none.
    /// - Returns: 16 hexadecimal digits.
    package func pseudonym(of text: some StringProtocol, in application: ApplicationID?) -> String {
        let message = Array("\(application?.text ?? "")\n\(text)".utf8)
        return Hexadecimal.encode(HMAC<SHA256>.authenticationCode(for: message, using: key).prefix(8))
    }

    /// Of an e-mail address that somebody logs in with, in whatever case; of any other text as it is.
    package func pseudonym(ofLogin text: String, in application: ApplicationID) -> String {
        pseudonym(of: EmailAddress(text)?.login ?? text, in: application)
    }

    /// Of the text that a provider's login counts by; nil when the request holds none.
    package func pseudonym(of credential: CredentialFields, in application: ApplicationID) -> String? {
        (credential.accessToken ?? credential.idToken ?? credential.code ?? credential.loginCode)
            .map { pseudonym(of: $0, in: application) }
    }
}
