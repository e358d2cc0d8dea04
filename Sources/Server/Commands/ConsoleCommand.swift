import Administration
import ArgumentParser
import Vocabulary

struct ConsoleCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Print a link that signs an operator in to the web console.",
        discussion: """
            The link is good for five minutes and for one browser; the session it opens lasts twelve hours. The console is on \
            the management listener: where that is on another machine's loopback, forward the port by ssh -L first.

            Example:
              federation console ann
            """
    )

    @Argument(help: "The operator's name.")
    var name: String

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
        let made = try await administration.operators.createLink(of: name, by: actor)
        guard let token = made.body.object?["token"]?.string else { return try output.show(made) }
        let link = "\(origin)/console/sign-in?link=\(token)"
        guard !output.json else { return try output.show(.object(["link": .string(link)]), []) }
        try Terminal.printOnce(link, "This signs \(name) in to the console, once, within five minutes.")
    }
}
