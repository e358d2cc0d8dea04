package import Accounts
package import Applications
package import Domain
package import Logins

/// Begins logins in a provider's dialog, which `DialogPages` continues.
package struct DialogOpening: Sendable {
    private let dialog: LoginDialog
    private let address: PublicAddress

    package init(_ useCases: UseCases) { (dialog, address) = (useCases.dialog, useCases.address) }

    /// Returns the URL that a client opens in a browser to begin a login in a provider's dialog.
    ///
    /// - Parameters:
    ///   - request: The client's request for the dialog.
    ///   - provider: The provider whose dialog is opened.
    ///   - loaded: The application.
    ///   - base: Returns the base path of the pages. The method calls this closure last.
    /// - Returns: The URL.
    /// - Throws: The failure for which the provider or the application refuses the dialog. `provider_not_configured` if
    ///   the service has no public URL.
    package func open(
        _ request: DialogRequest,
        of provider: ProviderName,
        for loaded: LoadedApplication,
        at base: () throws(Failure) -> PublicBase
    ) async throws(Failure) -> String {
        try await dialog.openDialog(request, of: provider, for: loaded) { () throws(Failure) in
            guard let url = try base().url(at: address, for: loaded) else {
                throw Failure(
                    .providerNotConfigured,
                    "This service has no public URL. The operator must set FEDERATION_PUBLIC_URL."
                )
            }
            let pages = "\(url)/users/oauth/\(provider)"
            return DialogAddresses(start: { "\(pages)/start?dialog=\($0)" }, redirectURI: "\(pages)/authorize")
        }
    }
}
