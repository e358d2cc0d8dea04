import Administration
import ArgumentParser
import Domain
import Encodings

struct TokenKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token-key",
        abstract: "The keys that sign the tokens by which other services check users.",
        subcommands: [Rotate.self]
    )

    struct Rotate: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a new key, which signs in ten minutes.",
            discussion: """
                Without an application, each one that gives out signed tokens or has a key for them gets a new one.

                No token is refused meanwhile: services that follow the published keys learn the new key before it signs, and the former \
                ones are published until their last token has ended.

                When a key may be known to others, --at-once removes all former keys: within one second no instance signs with them \
                or publishes them. Tokens of theirs are refused as soon as services have fetched the keys again, which they do after \
                five minutes at the latest; users get new ones with their next request.

                Examples:
                  federation token-key rotate
                  federation token-key rotate demo --at-once
                """
        )

        @Argument(help: ArgumentHelp("Id of the application.", valueName: "app"))
        var application: String?

        @Flag(help: "Remove all former keys.")
        var atOnce = false

        @OptionGroup var output: OutputOptions

        func run(_ administration: Administration, by actor: Actor) async throws {
            let request: JSONObject = [
                "application": application.map(JSONValue.string) ?? .null, "atOnce": .bool(atOnce),
            ]
            let made = try await administration.tokenKeys.rotate(.object(request), by: actor)
            guard !output.json, let keys = made.object?["items"]?.array else { return try output.show(made, []) }
            for key in keys.compactMap(\.object) {
                let seconds = key["signsInSeconds"]?.integer ?? 0
                let moment = seconds == 0 ? "signs from now on" : "signs in \(seconds / 60) minutes"
                let application = key["application"]?.string ?? ""
                try Terminal.report("The key \(key["id"]?.string ?? "") of \(application) is published and \(moment).")
            }
            if keys.isEmpty {
                try Terminal.report("No application gives out signed tokens, so there is no key to replace.")
            }
        }
    }
}
