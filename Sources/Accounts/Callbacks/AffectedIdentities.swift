import Applications
package import Domain
package import Providers

extension LoadedApplication {
    /// Returns the provider that has sent a callback, if it conforms to a given protocol, such as `RemovalReporting`.
    ///
    /// - Throws: `not_found` for a provider without such callbacks; `provider_not_configured`; `provider_misconfigured`
    ///   if the provider may exist but its options cannot be read.
    package func caller<Caller>(_ name: ProviderName, as _: Caller.Type) throws(Failure) -> Caller {
        guard let provider = configured(name) else {
            if let defect { throw .unusableConfiguration(cause: defect) }
            throw notSetUp(name)
        }
        guard let caller = provider as? Caller else { throw Self.missingCapability(provider.title) }
        return caller
    }

    /// Returns the identities that a callback about an app concerns.
    ///
    /// Several providers of one kind may have the same app, each with identities of its own. A callback about the app
    /// comes to the address of only one of these providers.
    ///
    /// - Parameters:
    ///   - identity: The identity in the callback.
    ///   - caller: The provider to whose address the callback was sent.
    /// - Returns: The user's identity at each provider with the app, in the order of the providers' names.
    func concerned<Caller>(by identity: IdentityKey, calling caller: Caller) -> [AffectedIdentity<Caller>] {
        names(havingApp: identity.app, of: identity.provider).map { name in
            AffectedIdentity(
                identity: IdentityKey(provider: name, app: identity.app, subject: identity.subject),
                instance: configured(name) as? Caller ?? caller
            )
        }
    }

    /// Reads and verifies a callback of a provider.
    ///
    /// - Throws: The errors of the provider; `provider_not_configured` if the application has no app of the provider.
    ///   If a part of the application's configuration cannot be read, this method throws `provider_misconfigured`
    ///   instead of these errors, so that the provider sends the callback again later. The unreadable part may be the
    ///   app that the callback is about.
    package func verified<Call>(
        _ caller: any Provider,
        _ read: () async throws(Failure) -> Call
    ) async throws(Failure) -> Call {
        do throws(Failure) {
            guard !caller.apps.isEmpty else {
                throw Failure(
                    .providerNotConfigured,
                    "This application has no \(caller.title) app."
                )
            }
            return try await read()
        } catch {
            if let defect { throw .unusableConfiguration(cause: defect) }
            throw error
        }
    }
}

/// An identity that a provider's callback about an app concerns.
struct AffectedIdentity<Caller> {
    let identity: IdentityKey
    /// The provider whose options decide how the callback is handled.
    ///
    /// Usually, this is the provider of `identity`. If the options of that provider can no longer be read, it is the
    /// provider to whose address the callback was sent.
    let instance: Caller
}
