import Applications
package import Domain
import Providers
import Secrets
package import Store

extension MasterKeys {
    /// Encrypts a provider token, so that the database can store it together with the user's identity.
    package func encrypt(_ token: ProviderToken, with identity: IdentityKey, of application: ApplicationID)
        -> EncryptedToken
    {
        let place = MasterKey.Place.providerToken(application: application, identity: identity)
        return EncryptedToken(kind: token.kind, secret: encrypt(token.text, for: place), expiresAt: token.expiresAt)
    }

    /// Decrypts the kept token of an identity.
    ///
    /// - Throws: `provider_misconfigured` if the token's master key is missing, or if the token was not encrypted for
    ///   this identity.
    package func open(_ kept: KeptIdentity, of application: ApplicationID) throws(Failure) -> ProviderToken {
        let place = MasterKey.Place.providerToken(application: application, identity: kept.key)
        guard let text = open(kept.token.secret, at: place) else {
            throw Failure(
                .providerMisconfigured,
                """
                The stored token cannot be decrypted. Log in again for a new token. The operator must check the master \
                keys.
                """,
                retryAfter: 60,
                cause: "a kept token is under master key \(kept.token.secret.keyID) and does not open"
            )
        }
        return ProviderToken(kind: kept.token.kind, text: text, expiresAt: kept.token.expiresAt)
    }
}

extension ChangeAuthor {
    /// Returns the author, for the audit log, of a change that a provider caused.
    ///
    /// The name of the author is `provider:` with the provider's name. It cannot be an operator's name, which never has
    /// a colon.
    package static func provider(_ name: ProviderName, by call: String) -> ChangeAuthor {
        ChangeAuthor(name: "provider:\(name)", source: call)
    }
}
