import ArgumentParser

/// The option that names a former program, which is measured beside the current one in the same run.
struct FormerOption: ParsableArguments {
    @Option(help: "Path of a former federation, to be measured beside this one.")
    var former: String?

    /// The programs to measure in turns; the path is nil for the program that was built with this one.
    var programs: [(name: String, path: String?)] { (former.map { [("former", $0)] } ?? []) + [("service", nil)] }
}
