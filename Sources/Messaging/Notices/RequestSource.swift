import Secrets

/// The network from which a request comes: an IPv4 address, or a prefix of an IPv6 address.
///
/// Rate limits count the requests of each source.
package struct RequestSource: Sendable {
    package let name: String

    package init(name: String) {
        self.name = name
    }

    /// The key of the counter that counts this source's attempts to log in with passwords and codes.
    package var attemptKey: [UInt8] { Digest.sha256("source " + name) }
}
