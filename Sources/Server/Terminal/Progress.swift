/// Shows the progress of a long command on one line of the terminal; prints nothing without a terminal.
struct Progress {
    private let what: String
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var shown: ContinuousClock.Instant?

    /// Creates the progress line.
    ///
    /// - Parameters:
    ///   - what: The name of the counted items.
    ///   - isShown: Whether to show the progress. False if the command's result appears at the terminal.
    init(_ what: String, isShown: Bool) {
        self.what = what
        self.isShown = isShown && Terminal.errorIsTerminal
    }

    /// Shows a count and a note, four times a second at most.
    mutating func show(_ count: Int, _ note: @autoclosure () -> String? = nil) {
        guard isShown, shown.map({ $0.duration(to: .now) >= .milliseconds(250) }) ?? true else { return }
        shown = .now
        let seconds = max(start.duration(to: .now) / .seconds(1), 0.001)
        let rest = note().map { "; " + $0 } ?? ""
        Terminal.overwrite("\(count) \(what), \(Int(Double(count) / seconds)) a second\(rest)")
    }

    /// Removes the progress line from the terminal.
    func end() {
        if shown != nil { Terminal.overwrite("") }
    }
}
