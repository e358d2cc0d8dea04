import ArgumentParser

/// A program from before a change, measured beside the one of now in the same run.
struct FormerOption: ParsableArguments {
    @Option(help: "Path of a former federation, to be measured beside this one.")
    var former: String?

    /// What is measured, in turns; no path for the program that was built together with this one.
    var programs: [(name: String, path: String?)] { (former.map { [("former", $0)] } ?? []) + [("service", nil)] }
}
