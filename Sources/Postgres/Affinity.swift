/// A group of statements that are best served by the same connection.
///
/// The server caches plans and table metadata for each connection separately. If statements about the same tables share
/// a connection, the other connections need not cache the same data. This module does not interpret the number.
package struct Affinity: Sendable, Hashable {
    let number: UInt64

    /// Creates the affinity of a name, by FNV-1a.
    ///
    /// The number is the same in every process.
    package init(of name: String) {
        number = name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
