extension Collection<UInt8> {
    /// Whether the bytes are the same, found out in a time that depends on the lengths alone.
    ///
    /// For what nobody may guess byte by byte: an ordinary comparison takes the longer the more of the guess is right.
    package func isEqualInConstantTime(to other: some Collection<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return zip(self, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
