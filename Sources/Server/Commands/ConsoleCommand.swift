import Administration
import ArgumentParser
import Domain
import Encodings

struct ConsoleCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Print a link that signs an operator in to the web console, or makes the first one.",
        discussion: """
            The link is good for five minutes and for one browser; the session it opens lasts twelve hours. Without a name, \
            while there is no operator, the link makes the first owner: once, within half an hour, and another one ends it. \
            The console is on the management listener: where that is on another machine's loopback, forward the port by \
            ssh -L first.

            Examples:
              federation console
              federation console ann
            """
    )

    @Argument(help: "The operator's name; left out while there is no operator.")
    var name: String?

    @Option(
        help: ArgumentHelp(
            "Where the browser reaches the management listener, if that is not where the configuration says.",
            valueName: "origin"
        )
    )
    var at: String?

    @OptionGroup var output: OutputOptions

    func run(_ administration: Administration, by actor: Actor) async throws {
        let origin: String?
        do { origin = try at ?? ConfigurationReader.readConsoleOrigin() } catch let problems as ConfigurationProblems {
            throw Exit.saying("\(problems)", Exit.configuration)
        }
        guard let origin else {
            throw Exit.saying(
                "federation: the management listener is a Unix socket, which no browser reaches; say --at.",
                Exit.usage
            )
        }
        let (made, page, what): (Resource, String, String)
        if let name {
            made = try await administration.operators.createLink(of: name, by: actor)
            (page, what) = ("sign-in", "This signs \(name) in to the console, once, within five minutes.")
        } else {
            made = try await administration.operators.createSetupLink(by: actor)
            (page, what) = ("first-operator", "This makes the first owner in the console, once, within half an hour.")
        }
        guard let token = made.body.object?["token"]?.string else { return try output.show(made) }
        let link = "\(origin)/console/\(page)?link=\(token)"
        guard !output.json else { return try output.show(.object(["link": .string(link)]), []) }
        try Terminal.printOnce(link, what)
    }
}
