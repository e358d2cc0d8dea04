import NIOConcurrencyHelpers

/// What has been learnt about each of those as whom we ask, shared by the logins under way.
package final class Links<Key: Hashable & Sendable, Link: Sendable>: Sendable {
    private let links = NIOLockedValueBox<[Key: Link]>([:])
    private let make: @Sendable (Key) -> Link

    /// Links that are remembered at once.
    ///
    /// Their keys come from operators, so there are few; with more of them everything learnt is dropped now and then
    /// and learnt again.
    private static var most: Int { 4096 }

    package init(_ make: @escaping @Sendable (Key) -> Link) {
        self.make = make
    }

    /// What was learnt, if anything was.
    package func known(_ key: Key) -> Link? {
        links.withLockedValue { $0[key] }
    }

    /// The link of a key, made when it is asked for first.
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
