// Notifications — mails from the moment that something causes them until a mail server has them.
//
// It owns the queue, the links that mails carry, who is told of changes to an account and how often, and the delivery
// in the background.
//
// It must not know what a mail says (Mailing does), nor the use cases that cause one.

import Secrets

/// Where a request comes from, as far as attempts are counted for it: a text of bounded length that names a network.
package struct RequestSource: Sendable {
    package let name: String

    package init(name: String) {
        self.name = name
    }

    /// For what guesses are counted that come from there.
    package var attemptKey: [UInt8] { Digest.sha256("source " + name) }
}
