// KeptTokens — what is done with the tokens of providers that an application keeps.
//
// It owns how they are sealed and opened, how a provider is asked about them and what is written then, and how our
// permissions at a provider are given up. Clients, operators, providers that call and the background do all of that
// this way.
//
// It must not know who asks for it, nor when.

import Applications
import Providers
import Secrets
package import Store
package import Vocabulary

extension MasterKeys {
    /// A provider token as it is kept with its identity.
    package func seal(_ token: ProviderToken, with identity: IdentityKey, of application: ApplicationID) -> SealedToken
    {
        let place = MasterKey.Place.providerToken(application: application, identity: identity)
        return SealedToken(kind: token.kind, secret: seal(token.text, for: place), expiresAt: token.expiresAt)
    }

    /// The kept token of an identity.
    ///
    /// - Throws: `provider_misconfigured` when its master key is not at hand, or it was put there by other means.
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
    /// A provider, by one of its calls; no operator's name has a colon.
    package static func provider(_ name: ProviderName, by call: String) -> Actor {
        Actor(name: "provider:\(name)", source: call)
    }
}
