import Administration
import ArgumentParser
import Domain
import Encodings

struct TokenKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token-key",
        abstract: "Manage the keys of signed tokens.",
        subcommands: [Rotate.self]
    )

    struct Rotate: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create new keys, which sign tokens in ten minutes.",
            discussion: """
                Each algorithm by which the application signs gets a new key. Without an application, each application \
                that issues signed tokens or has a key gets new ones.

                No token is refused meanwhile: a new key is published before it signs, and the former keys are \
                published until their last token expires.

                If a key may be compromised, use --at-once, which removes all former keys: within one second no \
                instance uses or publishes them. Services refuse their tokens once they have fetched the keys again, \
                after five minutes at most. Users get new tokens with their next request.

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

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
            let request: JSONObject = [
                "application": application.map(JSONValue.string) ?? .null, "atOnce": .bool(atOnce),
            ]
            let made = try await administration.tokenKeys.rotate(.object(request), by: actor)
            guard !output.json, let keys = made.object?["items"]?.array else { return try output.show(made, []) }
            for key in keys.compactMap(\.object) {
                let seconds = key["signsInSeconds"]?.integer ?? 0
                let moment = seconds == 0 ? "signs from now on" : "signs in \(seconds / 60) minutes"
                let (application, algorithm) = (key["application"]?.string ?? "", key["algorithm"]?.string ?? "")
                try Terminal.report(
                    "The \(algorithm) key \(key["id"]?.string ?? "") of \(application) is published and \(moment)."
                )
            }
            if keys.isEmpty {
                try Terminal.report("No application issues signed tokens, so there is no key to replace.")
            }
        }
    }
}
