extension Duration {
    /// Whole milliseconds, at most 2³¹−1; rounded up to at least 1, since libcurl takes 0 for no limit.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 2_147_483 else { return Int(Int32.max) }
        let rest = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, Int(seconds) * 1000 + Int(rest))
    }
}
