import ArgumentParser

/// How long is measured, and with whom, where several programs take turns.
struct MeasuringOptions: ParsableArguments {
    @Option(help: "People who log in again and again.")
    var people = 500
    @Option(help: "Seconds of each measurement.")
    var seconds = 8.0
    @Option(help: "Measurements of each, in turns; medians count.")
    var rounds = 3

    var turns: String { "\(rounds) rounds of \(seconds) s" }
}
