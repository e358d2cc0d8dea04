import Administration
import ArgumentParser

/// What must still be so for a change to happen.
struct PreconditionOption: ParsableArguments {
    @Option(
        name: .customLong("if-match"),
        help: ArgumentHelp("Change nothing unless this is still the tag that show gave.", valueName: "tag")
    )
    var tag: String?

    /// Without the option: whatever is there.
    var precondition: Precondition { tag.map { .tags([$0.filter { $0 != "\"" }]) } ?? .any }
}
