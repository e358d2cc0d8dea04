import ArgumentParser

/// The command-line argument with the application that a command works on.
struct ApplicationArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("Id of the application.", valueName: "app"))
    var id: String
}
