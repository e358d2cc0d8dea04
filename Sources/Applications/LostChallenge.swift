package import Domain
package import Providers
import Secrets

extension DialogOffering {
    /// Returns the key of the database's record that a provider has lost the PKCE challenge of an app's dialog.
    ///
    /// The key is a hash of the provider kind and the app's id, since apps of two kinds may have the same id.
    package func lostChallengeHash(of app: ProviderAppID) -> [UInt8] { Digest.sha256("\(kind)/\(app)") }
}
