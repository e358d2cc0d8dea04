import FoundationEssentials
import Vocabulary

// What all calls of Facebook's have in common: the app whose secret signed one says for whom it is.

extension LoadedApplication {
    /// Verifies a call against the application's Facebook apps, those of a provider that is switched off as well: what Facebook
    /// demands outlasts logins.
    ///
    /// - Throws: What the verification throws; `provider_misconfigured` instead when the app may be one whose secret does not open,
    ///   so that Facebook calls again; `provider_not_configured` when there is no app.
    func verified<Call>(
        _ verify: ([ProviderApp], _ now: Int64) throws(Failure) -> Call
    ) throws(Failure) -> Call {
        let apps = application.facebook?.apps ?? []
        do throws(Failure) {
            guard !apps.isEmpty else {
                throw Failure(
                    .providerNotConfigured,
                    "This application has no Facebook app that could be called about."
                )
            }
            return try verify(apps, Int64(Date().timeIntervalSince1970))
        } catch {
            if let defect { throw Self.unusable(cause: defect) }
            throw error
        }
    }

    /// What the operator decided; the defaults where there is nothing.
    var facebookOptions: FacebookOptions { application.facebook?.options ?? FacebookOptions() }
}

extension Actor {
    /// Facebook, by one of its calls.
    static func facebook(by call: String) -> Actor { Actor(name: "facebook", source: call) }
}
