/// What statements have in common that are served best by the same connection: the server keeps plans, and what it
/// knows of tables, for each connection apart, so what is asked of one need not be learnt by all.
///
/// A number without a meaning here.
package struct Affinity: Sendable, Hashable {
    let number: UInt64

    /// The affinity of everything that goes by this name (FNV-1a, so that it is the same at each start).
    package init(of name: String) {
        number = name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
