import NIOConcurrencyHelpers

/// Keeps what the service knows about requests to a provider, as one "link" for each app.
///
/// A link has, for example, the circuit breaker. Concurrent logins share a link.
package final class Links<Key: Hashable & Sendable, Link: Sendable>: Sendable {
    private let links = NIOLockedValueBox<[Key: Link]>([:])
    private let make: @Sendable (Key) -> Link

    /// The maximum number of links.
    ///
    /// Usually there are few links: one for each app that an operator created. At the maximum, all links are dropped.
    /// The service then learns the state of each app again from new requests.
    private static var max: Int { 4096 }

    package init(_ make: @escaping @Sendable (Key) -> Link) {
        self.make = make
    }

    /// Returns the link for a key; nil if there is none yet.
    package func known(_ key: Key) -> Link? {
        links.withLockedValue { $0[key] }
    }

    /// Returns the link for a key.
    ///
    /// Creates the link if there is none yet.
    package func link(_ key: Key) -> Link {
        links.withLockedValue { links in
            if let link = links[key] { return link }
            if links.count >= Self.max { links.removeAll() }
            let link = make(key)
            links[key] = link
            return link
        }
    }
}
