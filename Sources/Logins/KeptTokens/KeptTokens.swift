import Applications
package import Domain
import Providers
import Secrets
package import Store

extension MasterKeys {
    /// Encrypts a provider token for storage with its identity.
    package func seal(_ token: ProviderToken, with identity: IdentityKey, of application: ApplicationID) -> SealedToken
    {
        let place = MasterKey.Place.providerToken(application: application, identity: identity)
        return SealedToken(kind: token.kind, secret: seal(token.text, for: place), expiresAt: token.expiresAt)
    }

    /// Decrypts the kept token of an identity.
    ///
    /// - Throws: `provider_misconfigured` if its master key is missing, or if the token was stored by other means.
    package func open(_ kept: KeptIdentity, of application: ApplicationID) throws(Failure) -> ProviderToken {
        let place = MasterKey.Place.providerToken(application: application, identity: kept.key)
        guard let text = open(kept.token.secret, at: place) else {
            throw Failure(
                .providerMisconfigured,
                "The kept token cannot be opened. The operator has to look at the master keys; a new login brings another token.",
                retryAfter: 60,
                cause: "a kept token is under master key \(kept.token.secret.keyID) and does not open"
            )
        }
        return ProviderToken(kind: kept.token.kind, text: text, expiresAt: kept.token.expiresAt)
    }
}

extension Actor {
    /// Returns the actor for a callback of a provider; no operator's name has a colon.
    package static func provider(_ name: ProviderName, by call: String) -> Actor {
        Actor(name: "provider:\(name)", source: call)
    }
}
