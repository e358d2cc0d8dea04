package import Domain
package import Providers
import Secrets

extension DialogOffering {
    /// Returns the hash that the database keeps for an app whose challenge was lost.
    ///
    /// It includes the provider kind. Otherwise the provider of another app with the same id could switch challenges
    /// off here.
    package func lostChallengeHash(of app: ProviderAppID) -> [UInt8] { Digest.sha256("\(kind)/\(app)") }
}
