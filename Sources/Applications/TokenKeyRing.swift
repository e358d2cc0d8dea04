package import Store

/// The rules that decide which stored key signs an application's tokens, and which public keys are published.
///
/// A new key is published at once, but does not sign until all caches of published keys have expired. Until then, its
/// predecessor signs. The very first key signs at once, since it has no predecessor, and services do not cache an empty
/// set of keys. An application may have keys of its own. The key that all applications share is the predecessor of an
/// application's first own key.
package enum TokenKeyRing {
    /// The maximum seconds for which services may cache the published keys.
    package static let publishedSeconds = 300
    /// The maximum seconds for which services may cache the published keys during a rotation.
    ///
    /// The time is short, so that services soon drop a removed key.
    package static let changingSeconds = 60
    /// The age in seconds at which a new key begins to sign tokens.
    ///
    /// It is twice the cache time of published keys, to allow for clock differences and intermediate caches.
    package static let overlapSeconds = 600
    /// The seconds for which a retired key remains published.
    ///
    /// This is long enough for the last token that the key signed: a retired key signs until its successor is old
    /// enough to sign, and a token is valid for an hour at most.
    package static let keptSeconds = overlapSeconds + 3600 + 60

    /// Returns the key that signs; nil when there is none.
    ///
    /// The key is always a published one.
    package static func signing(among keys: [StoredTokenKey]) -> StoredTokenKey? {
        let keys = published(among: keys)
        let known = keys.filter { $0.age >= Double(overlapSeconds) }
        return known.min { $0.age < $1.age } ?? keys.max { $0.age < $1.age }
    }

    /// Returns the seconds for which services may cache these published keys.
    ///
    /// Zero while there is no key, since the first key signs at once.
    package static func cacheSeconds(of published: [StoredTokenKey]) -> Int {
        guard let youngest = published.map(\.age).min() else { return 0 }
        return youngest < Double(overlapSeconds) ? changingSeconds : publishedSeconds
    }

    /// Returns the published keys, the oldest first.
    package static func published(among keys: [StoredTokenKey]) -> [StoredTokenKey] {
        keys.filter { $0.retiredSince.map { $0 < Double(keptSeconds) } ?? true }
    }
}
