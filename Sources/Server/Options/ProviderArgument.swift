import ArgumentParser
import Domain

/// The command-line argument with the provider that a command works on.
struct ProviderArgument: ParsableArguments {
    @Option(name: .customLong("provider"), help: "The name of the provider in the application.")
    var name = ProviderName(known: "facebook")
}

extension ProviderName: ExpressibleByArgument {
    package init?(argument: String) {
        guard let name = ProviderName(argument), name != .password else { return nil }
        self = name
    }
}
