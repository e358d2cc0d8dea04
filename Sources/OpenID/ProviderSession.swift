import Crypto
import Domain

/// A user's session at an issuer.
enum ProviderSession {
    /// Returns the hash by which the service knows a session at an issuer; nil without an id.
    ///
    /// The provider's name is part of it: two issuers may have the same id.
    static func hash(_ id: String?, at provider: ProviderName) -> [UInt8]? {
        guard let id, !id.utf8.isEmpty else { return nil }
        return Array(SHA256.hash(data: Array("\(provider) \(id)".utf8)))
    }
}
