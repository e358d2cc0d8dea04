import Administration
import ArgumentParser
import Vocabulary

struct OperatorFactorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "factor",
        abstract: "Second factors of an operator.",
        subcommands: [List.self, Remove.self]
    )

    struct List: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the second factors of an operator.",
            discussion: """
                Example:
                  federation operator factor list ann
                """
        )

        @OptionGroup var person: OperatorCommand.NameArgument
        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            try output.show(try await administration.operatorFactors.list(of: person.name), FactorColumns.all)
        }
    }

    struct Remove: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a second factor from an operator, or all of them.",
            discussion: """
                The way back for an operator who has lost them: no other operator can do it over the API. With the last one a \
                token counts alone until another is enrolled, and wrong codes of before are forgotten.

                Examples:
                  federation operator factor remove ann 7C1A0F52-93D4-4E0B-8B7A-5D2E6F708192
                  federation operator factor remove ann --all
                """
        )

        @OptionGroup var person: OperatorCommand.NameArgument

        @Argument(help: ArgumentHelp("The factor's id, as operator factor list has it.", valueName: "factor"))
        var factor: String?

        @Flag(help: "Take all of them.")
        var all = false

        func validate() throws {
            guard (factor != nil) != all else { throw ValidationError("Name a factor, or say --all.") }
        }

        func run(_ administration: Administration, by actor: Actor) async throws {
            try await administration.operatorFactors.remove(factor, of: person.name, by: actor)
            let what = factor.map { "The second factor \($0) is" } ?? "All second factors are"
            try Terminal.report("\(what) taken from the operator \(person.name).")
        }
    }
}
