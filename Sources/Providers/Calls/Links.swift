import NIOConcurrencyHelpers

/// A table of links to a provider.
///
/// A link has the state of the requests for one app, such as the circuit breaker. Concurrent logins share a link.
package final class Links<Key: Hashable & Sendable, Link: Sendable>: Sendable {
    private let links = NIOLockedValueBox<[Key: Link]>([:])
    private let make: @Sendable (Key) -> Link

    /// The maximum number of links.
    ///
    /// There is a link for each app that an operator created, so there are few. When the maximum is reached, all links
    /// are dropped, and new requests build up their state again.
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
