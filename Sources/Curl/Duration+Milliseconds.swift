extension Duration {
    /// The duration in whole milliseconds, rounded up, from 1 to 2³¹−1.
    ///
    /// The result is never 0, since libcurl takes 0 for no limit.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 2_147_483 else { return Int(Int32.max) }
        let rest = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, Int(seconds) * 1000 + Int(rest))
    }
}
