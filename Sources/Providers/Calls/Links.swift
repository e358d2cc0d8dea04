import NIOConcurrencyHelpers

/// The state of each app's requests to a provider, shared by concurrent logins.
package final class Links<Key: Hashable & Sendable, Link: Sendable>: Sendable {
    private let links = NIOLockedValueBox<[Key: Link]>([:])
    private let make: @Sendable (Key) -> Link

    /// The number of links that are kept at once.
    ///
    /// Keys come from operators, so there are few. When the number is reached, all links are dropped and learnt again.
    private static var most: Int { 4096 }

    package init(_ make: @escaping @Sendable (Key) -> Link) {
        self.make = make
    }

    /// Returns the link of a key; nil when there is none yet.
    package func known(_ key: Key) -> Link? {
        links.withLockedValue { $0[key] }
    }

    /// Returns the link of a key, created on first use.
    package func link(_ key: Key) -> Link {
        links.withLockedValue { links in
            if let link = links[key] { return link }
            if links.count >= Self.most { links.removeAll() }
            let link = make(key)
            links[key] = link
            return link
        }
    }
}
