package import Providers
import Secrets
package import Vocabulary

extension DialogOffering {
    /// What stands in the database for an app whose challenge was forgotten.
    ///
    /// With the kind, since the id alone may be that of another app elsewhere: whoever answers there would switch
    /// challenges off here.
    package func lostChallengeHash(of app: ProviderAppID) -> [UInt8] { Digest.sha256("\(kind)/\(app)") }
}
