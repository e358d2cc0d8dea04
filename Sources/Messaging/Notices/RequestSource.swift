import Secrets

/// The source of a request, for which attempts are counted.
///
/// Its name has a bounded length and stands for a network.
package struct RequestSource: Sendable {
    package let name: String

    package init(name: String) {
        self.name = name
    }

    /// The key under which the source's guesses of passwords and codes are counted.
    package var attemptKey: [UInt8] { Digest.sha256("source " + name) }
}
