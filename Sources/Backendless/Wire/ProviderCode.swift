import Applications
import Domain
import HTTP
import PublicAPI

extension APIContext {
    /// Returns the provider that a path names, in the spelling of client SDKs.
    ///
    /// Backendless calls Google `googleplus` (docs/protocols/backendless.md §1.3). The name stands for the provider
    /// `google`, unless the application has a provider `googleplus`.
    ///
    /// - Throws: `not_found` if the path names no provider.
    func provider(of application: LoadedApplication) throws(Failure) -> ProviderName {
        let named = try provider()
        guard named == .googlePlus, !application.knows(named), application.knows(.google) else { return named }
        return .google
    }
}

extension ProviderName {
    fileprivate static let googlePlus = ProviderName(known: "googleplus")
    fileprivate static let google = ProviderName(known: "google")
}
