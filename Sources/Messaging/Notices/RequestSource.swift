import Secrets

/// The source of a request, for counts of attempts: a text of bounded length that names a network.
package struct RequestSource: Sendable {
    package let name: String

    package init(name: String) {
        self.name = name
    }

    /// The key for which guesses of the source are counted.
    package var attemptKey: [UInt8] { Digest.sha256("source " + name) }
}
