import ArgumentParser

/// The number of users, and the length and number of measurements, for programs that take turns.
struct MeasuringOptions: ParsableArguments {
    @Option(help: "People who log in again and again.")
    var people = 500
    @Option(help: "Seconds of each measurement.")
    var seconds = 8.0
    @Option(help: "Measurements of each, in turns; medians count.")
    var rounds = 3

    var turns: String { "\(rounds) rounds of \(seconds) s" }
}
