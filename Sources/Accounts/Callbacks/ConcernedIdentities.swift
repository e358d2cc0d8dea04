import Applications
package import Domain
package import Providers

extension LoadedApplication {
    /// Returns the provider of a callback.
    ///
    /// - Throws: `not_found` for a provider without callbacks; `provider_not_configured`; `provider_misconfigured` if
    ///   the provider may exist but its options cannot be read.
    package func caller(_ name: ProviderName) throws(Failure) -> any RemovalReporting {
        guard let provider = configured(name) else {
            if let defect { throw .unusableConfiguration(cause: defect) }
            throw notSetUp(name)
        }
        guard let caller = provider as? any RemovalReporting else { throw Self.lacksCapability(provider.title) }
        return caller
    }

    /// Returns the identities that a callback about an app concerns.
    ///
    /// A provider sends callbacks about an app to one address, but each provider of its kind with the app has
    /// identities of its own.
    ///
    /// - Parameters:
    ///   - identity: The identity in the callback.
    ///   - caller: The provider that the callback was sent to.
    /// - Returns: The user's identity at each provider, in the order of the providers' names.
    func concerned(by identity: IdentityKey, calling caller: any RemovalReporting) -> [Concerned] {
        names(havingApp: identity.app, of: caller.name).map { name in
            Concerned(
                identity: IdentityKey(provider: name, app: identity.app, subject: identity.subject),
                instance: configured(name) as? any RemovalReporting ?? caller
            )
        }
    }

    /// Reads and verifies a callback of a provider.
    ///
    /// - Throws: The errors of the provider. `provider_misconfigured` takes their place if the callback may be about an
    ///   app whose secret cannot be decrypted, so that the provider retries. `provider_not_configured` if there is no
    ///   app.
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

/// An identity that a callback concerns, at one of the providers with the app.
struct Concerned {
    let identity: IdentityKey
    /// The provider whose options apply.
    ///
    /// That is the identity's provider, or the called provider if the options of the former can no longer be read.
    let instance: any RemovalReporting
}
