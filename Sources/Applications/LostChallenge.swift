package import Domain
package import Providers
import Secrets

extension DialogOffering {
    /// Returns the hash under which the database records that a provider has lost the PKCE challenge of an app's
    /// dialog.
    ///
    /// The hash includes the provider kind. Otherwise an app of another kind with the same id could turn off the
    /// challenges of this app.
    package func lostChallengeHash(of app: ProviderAppID) -> [UInt8] { Digest.sha256("\(kind)/\(app)") }
}
