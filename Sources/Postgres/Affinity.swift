/// A group of statements that are best served by the same connection.
///
/// The server caches plans and table metadata for each connection separately. So statements that share a connection
/// spare the other connections from caching the same. The number has no meaning in this module.
package struct Affinity: Sendable, Hashable {
    let number: UInt64

    /// Creates the affinity of a name, by FNV-1a, so that it is the same at each start.
    package init(of name: String) {
        number = name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
