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

    /// The precondition that the option states; `any` without the option.
    var precondition: Precondition { plainTag.map { .tags([$0]) } ?? .any }

    /// - Throws: `ValidationError` if the path takes no tag. Otherwise a change would seem to be guarded without being
    ///   so.
    func check(_ path: ResourcePath) throws {
        guard tag == nil || path.route.takesTag else {
            throw ValidationError("\(path.text) has no tag: leave --if-match out.")
        }
    }

    /// The tag without quotes.
    var plainTag: String? { tag.map { $0.filter { $0 != "\"" } } }
}
