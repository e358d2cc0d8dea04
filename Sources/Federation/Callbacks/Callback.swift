import Providers
import Vocabulary

// What all calls of a provider's have in common: they come whether people can log in by it or not, since what a provider demands of an
// app outlasts logins.

extension LoadedApplication {
    /// The provider that calls.
    ///
    /// - Throws: `not_found` for one that never does; `provider_not_configured`; `provider_misconfigured` when it may be one whose settings
    ///   cannot be read.
    func caller(_ name: ProviderName) throws(Failure) -> any RemovalReporting {
        guard let provider = configured(name) else {
            if let defect { throw .unusableConfiguration(cause: defect) }
            throw notSetUp(name)
        }
        guard let caller = provider as? any RemovalReporting else { throw Self.lacksCapability(provider.title) }
        return caller
    }

    /// Reads a call of a provider's.
    ///
    /// - Throws: What the provider throws; `provider_misconfigured` instead when the call may be for an app whose secret does not open, so
    ///   that the provider calls again; `provider_not_configured` when there is no app.
    func verified<Call>(
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

extension Actor {
    /// A provider, by one of its calls.
    static func provider(_ name: ProviderName, by call: String) -> Actor { Actor(name: name.text, source: call) }
}
