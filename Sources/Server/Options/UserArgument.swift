import ArgumentParser

/// The command-line argument with the user that a command works on.
struct UserArgument: ParsableArguments {
    @OptionGroup var application: ApplicationArgument

    @Argument(help: ArgumentHelp("The user's objectId.", valueName: "user"))
    var id: String
}
