// Callbacks — what providers call when a person has removed the app, wants their data deleted, or changed a permission.
//
// It owns deauthorization, providers' requests for deletion and how far they are, and events of permissions.
// They come whether people can log in by the provider or not, since what a provider demands of an app
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
    ///   - identity: Of whom the caller spoke.
    ///   - caller: The instance that was called.
    /// - Returns: The person's identity at each instance, in the order of their names.
    func concerned(by identity: IdentityKey, calling caller: any RemovalReporting) -> [Concerned] {
        names(havingApp: identity.app, of: caller.name).map { name in
            Concerned(
                identity: IdentityKey(provider: name, app: identity.app, subject: identity.subject),
                instance: configured(name) as? any RemovalReporting ?? caller
            )
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

/// A person of whom a provider's call tells, at one of the instances that it is about.
struct Concerned {
    let identity: IdentityKey
    /// By whose options it is dealt with: those of the instance, or of the one that was called where these cannot be
    /// read any more.
    let instance: any RemovalReporting
}
