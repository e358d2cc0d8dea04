import ArgumentParser
import Federation
import Vocabulary

/// The provider that a command is about.
struct ProviderArgument: ParsableArguments {
    @Option(name: .customLong("provider"), help: "The identity provider.")
    var name = ProviderName.facebook
}

extension ProviderName: ExpressibleByArgument {
    package init?(argument: String) {
        guard let known = Self.known.first(where: { $0.text.hasSameBytes(as: argument) }) else { return nil }
        self = known
    }

    package static var allValueStrings: [String] { known.map(\.text) }
}
