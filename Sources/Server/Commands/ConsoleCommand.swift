import Administration
import ArgumentParser
import Domain
import Encodings

struct ConsoleCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Print a link to log in to the web console, or to create the first operator.",
        discussion: """
            The link is single-use and valid for five minutes. Its session lasts twelve hours. If there is no operator \
            yet, leave out the name: the link then creates the first owner, is valid for half an hour, and is replaced \
            by the next link. The console is on the management listener. If that is on the loopback of another \
            machine, forward the port with ssh -L first.

            Examples:
              federation console
              federation console ann
            """
    )

    @Argument(help: "The operator's name. Leave it out if there is no operator yet.")
    var name: String?

    @Option(
        help: ArgumentHelp(
            "The address of the management listener for the browser, if it differs from the configuration.",
            valueName: "origin"
        )
    )
    var at: String?

    @OptionGroup var output: OutputOptions

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        let origin: String?
        do { origin = try at ?? ConfigurationReader.readConsoleOrigin() } catch let problems as ConfigurationProblems {
            throw Exit.saying("\(problems)", Exit.configuration)
        }
        guard let origin else {
            throw Exit.saying(
                "federation: the management listener is a Unix socket, which browsers cannot reach; use --at.",
                Exit.usage
            )
        }
        let (made, page, what): (Resource, String, String)
        if let name {
            made = try await administration.operators.createLink(of: name, by: actor)
            (page, what) = (
                "login",
                "This link logs \(name) in to the console. It is single-use and valid for five minutes."
            )
        } else {
            made = try await administration.operators.createSetupLink(by: actor)
            (page, what) = (
                "first-operator",
                "This link creates the first owner in the console. It is single-use and valid for half an hour."
            )
        }
        guard let token = made.body.object?["token"]?.string else { return try output.show(made) }
        let link = "\(origin)/console/\(page)?link=\(token)"
        guard !output.json else { return try output.show(.object(["link": .string(link)]), []) }
        try Terminal.printOnce(link, what)
    }
}
