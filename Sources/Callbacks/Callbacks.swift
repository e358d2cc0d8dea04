// Callbacks — what providers call when a person has removed the app, wants their data deleted, or changed a permission.
//
// It owns deauthorization, requests for deletion and how far they are, the erasures themselves, and events of
// permissions. They come whether people can log in by the provider or not, since what a provider demands of an app
// outlasts logins.
//
// It must not know how a call is signed or spelt: its provider does.

import Applications
package import Providers
package import Vocabulary

extension LoadedApplication {
    /// The provider that calls.
    ///
    /// - Throws: `not_found` for one that never does; `provider_not_configured`; `provider_misconfigured` when it may
    ///   be one whose settings cannot be read.
    package func caller(_ name: ProviderName) throws(Failure) -> any RemovalReporting {
        guard let provider = configured(name) else {
            if let defect { throw .unusableConfiguration(cause: defect) }
            throw notSetUp(name)
        }
        guard let caller = provider as? any RemovalReporting else { throw Self.lacksCapability(provider.title) }
        return caller
    }

    /// Whom a call about an app concerns: a provider calls one address for it, and every instance of the kind that has
    /// the app has people of its own.
    ///
    /// - Parameters:
    ///   - caller: The instance that was called, which is the first of them.
    ///   - identity: Of whom it spoke.
    /// - Returns: Each instance with the person's identity there.
    package func concerned(
        besides caller: any RemovalReporting,
        by identity: IdentityKey
    ) -> [(caller: any RemovalReporting, identity: IdentityKey)] {
        let others = configuredProviders.compactMap { $0 as? any RemovalReporting }.filter { other in
            other.name != caller.name && kind(of: other.name) == kind(of: caller.name)
                && other.apps.contains { $0.id == identity.app }
        }
        return ([caller] + others).map { caller in
            (caller, IdentityKey(provider: caller.name, app: identity.app, subject: identity.subject))
        }
    }

    /// Reads a call of a provider's.
    ///
    /// - Throws: What the provider throws; `provider_misconfigured` instead when the call may be for an app whose
    ///   secret does not open, so that the provider calls again; `provider_not_configured` when there is no app.
    package func verified<Call>(
        _ caller: any RemovalReporting,
        _ read: (any RemovalReporting) throws(Failure) -> Call
    ) throws(Failure) -> Call {
        do throws(Failure) {
            guard !caller.apps.isEmpty else {
                throw Failure(
                    .providerNotConfigured,
                    "This application has no \(caller.title) app that could be called about."
                )
            }
            return try read(caller)
        } catch {
            if let defect { throw .unusableConfiguration(cause: defect) }
            throw error
        }
    }
}
