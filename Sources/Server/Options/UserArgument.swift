import ArgumentParser

/// The user that a command works on.
struct UserArgument: ParsableArguments {
    @OptionGroup var application: ApplicationArgument

    @Argument(help: ArgumentHelp("The user's objectId.", valueName: "user"))
    var id: String
}
