import Administration
import AdministrationAPI
import ArgumentParser

/// The option `--if-match`, by which a command changes a resource only if the resource still has the given tag.
struct PreconditionOption: ParsableArguments {
    @Option(
        name: .customLong("if-match"),
        help: ArgumentHelp("Only change the resource if this is still its tag from get.", valueName: "tag")
    )
    var tag: String?

    /// The precondition for the command's change: the tag of the option `--if-match`; without the option, none.
    var precondition: Precondition { plainTag.map { .tags([$0]) } ?? .any }

    /// Refuses the option for a resource that has no tag.
    ///
    /// - Throws: `ValidationError`, since the operator would otherwise believe that the option protects the change.
    func check(_ path: ResourcePath) throws {
        guard tag == nil || path.route.takesTag else {
            throw ValidationError("\(path.text) has no tag: leave --if-match out.")
        }
    }

    /// The entity tag of the option `--if-match`, without quotes; nil without the option.
    var plainTag: String? { tag.map { $0.filter { $0 != "\"" } } }
}
