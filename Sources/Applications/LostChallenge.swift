package import Domain
package import Providers
import Secrets

extension DialogOffering {
    /// Returns the hash that the database keeps for an app whose challenge was lost.
    ///
    /// The hash includes the provider kind. Otherwise an app of another kind with the same id could turn challenges off
    /// here.
    package func lostChallengeHash(of app: ProviderAppID) -> [UInt8] { Digest.sha256("\(kind)/\(app)") }
}
