extension Duration {
    /// Milliseconds, rounded up so that a limit is never 0, which libcurl takes for none; at most 2³¹−1.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 2_147_483 else { return Int(Int32.max) }
        let rest = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, Int(seconds) * 1000 + Int(rest))
    }
}
