import Secrets

/// The network from which a request comes: an IPv4 address, or a prefix of an IPv6 address.
///
/// Rate limits count requests for this source. The length of `name` is bounded.
package struct RequestSource: Sendable {
    package let name: String

    package init(name: String) {
        self.name = name
    }

    /// The key under which attempts with passwords and codes are counted for the source.
    package var attemptKey: [UInt8] { Digest.sha256("source " + name) }
}
