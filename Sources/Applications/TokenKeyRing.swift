package import Store

/// Which keys sign an application's tokens and which are published, of those that are stored.
///
/// A key is published at once and signs only when every service that keeps the published keys for their time has come
/// to know it; its predecessor signs meanwhile. The first key of all signs at once, since there is no other, and nobody
/// keeps the empty set of before. A key that applications have in common is the predecessor of each one's own.
package enum TokenKeyRing {
    /// Seconds for which others may keep the published keys at most.
    package static let publishedSeconds = 300
    /// Seconds for which others may keep the published keys during a rotation, so that a removed key is forgotten soon.
    package static let changingSeconds = 60
    /// Seconds after which a new key signs: twice that, for clocks and copies on the way.
    package static let overlapSeconds = 600
    /// Seconds for which a retired key is published: it signs during the overlap, and what it has signed then lives for
    /// an hour at most.
    package static let keptSeconds = overlapSeconds + 3600 + 60

    /// The key that signs, which is always a published one; nil when there is none.
    package static func signing(among keys: [StoredTokenKey]) -> StoredTokenKey? {
        let keys = published(among: keys)
        let known = keys.filter { $0.age >= Double(overlapSeconds) }
        return known.min { $0.age < $1.age } ?? keys.max { $0.age < $1.age }
    }

    /// Seconds for which others may keep these published keys: none while there is no key, since the first one signs
    /// at once.
    package static func cacheSeconds(of published: [StoredTokenKey]) -> Int {
        guard let youngest = published.map(\.age).min() else { return 0 }
        return youngest < Double(overlapSeconds) ? changingSeconds : publishedSeconds
    }

    /// The keys that are published, the oldest first.
    package static func published(among keys: [StoredTokenKey]) -> [StoredTokenKey] {
        keys.filter { $0.retiredSince.map { $0 < Double(keptSeconds) } ?? true }
    }
}
