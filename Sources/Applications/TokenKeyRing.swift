package import Domain
package import Encodings
package import Store

/// The rules that decide which stored key signs an application's tokens, and which public keys are published.
///
/// They count for each algorithm alone: the keys of one algorithm are no predecessors of those of another.
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
    /// The seconds for which a retired key verifies session cookies.
    ///
    /// A cookie is valid for 14 days at most.
    package static let cookieKeptSeconds = overlapSeconds + 14 * 86_400 + 60

    /// Returns the seconds for which a retired key is stored.
    package static func storedSeconds(of algorithm: TokenAlgorithm) -> Int {
        // Session cookies are signed by RS256 alone.
        algorithm == .rs256 ? cookieKeptSeconds : keptSeconds
    }

    /// Returns the key that signs by an algorithm; nil when there is none.
    ///
    /// The key is always a published one.
    package static func signing(among keys: [StoredTokenKey], by algorithm: TokenAlgorithm) -> StoredTokenKey? {
        let keys = published(among: keys).filter { $0.algorithm == algorithm }
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
    ///
    /// - Parameters:
    ///   - keys: The stored keys.
    ///   - seconds: The seconds for which a retired key is published.
    /// - Returns: The keys.
    package static func published(
        among keys: [StoredTokenKey],
        for seconds: Int = keptSeconds
    ) -> [StoredTokenKey] {
        keys.filter { $0.retiredSince.map { $0 < Double(seconds) } ?? true }
    }
}

extension StoredTokenKey {
    /// The key in a key set: a JWK without the certificate.
    package var jwk: JSONObject {
        JSONObject(
            publicKey.members.filter { $0.key != "x5c" } + [
                .init("use", .string("sig")), .init("alg", .string(algorithm.rawValue)), .init("kid", .string(id)),
            ]
        )
    }
}
