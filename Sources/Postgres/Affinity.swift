/// A number that stands for a group of statements; they are best run on the same connection.
///
/// The server caches plans and table metadata for each connection separately. If statements about the same tables share
/// a connection, the other connections need not cache the same data. The driver only compares the numbers; the rest of
/// the program decides which statements belong together.
package struct Affinity: Sendable, Hashable {
    let number: UInt64

    /// Hashes a name to an affinity, by the hash function FNV-1a.
    ///
    /// The same name gives the same affinity in every process.
    package init(of name: String) {
        number = name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
