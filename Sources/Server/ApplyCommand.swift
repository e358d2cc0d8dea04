import ArgumentParser
import Federation
import FoundationEssentials
import Postgres
import Store

struct ApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Make an application what its document says.",
        discussion: """
            Checks the document against the live database and writes everything in one transaction: the application and its \
            PostgreSQL schema, columns of declared properties, API keys, the Facebook apps and the mapping. Secrets come from \
            the environment variables that the document names; app secrets are stored encrypted under FEDERATION_MASTER_KEY. \
            Properties that the document does not name stay. Running instances follow within 5 seconds.

            Example:
              DEMO_API_KEY=… DEMO_FACEBOOK_APP_SECRET=… federation apply mappings/demo.json
            """
    )

    @Argument(help: "An application document (see docs/configuration.md).")
    var file: String

    func run() async throws {
        let document = try DocumentFile.read(file)
        let configuration: PostgresConfiguration
        let masterKey: MasterKey
        do { (configuration, masterKey) = try await ConfigurationReader.readDatabaseAndKey() } catch let problems
            as ConfigurationProblems
        {
            throw Exit.saying("\(problems)", Exit.configuration)
        }
        let file = file
        try await DatabaseTask.run(configuration) { store in
            let environment = ProcessInfo.processInfo.environment
            let apply = ApplyDocument(store: store, masterKey: masterKey) { environment[$0] }
            let actor = "cli:" + (environment["USER"] ?? environment["LOGNAME"] ?? "unknown")
            do {
                try await apply(document, actor: actor)
            } catch let problems as DocumentProblems {
                throw DocumentFile.report(problems, of: file)
            }
            print("Application \(document.id) is in place; its users are in \(document.schema).users.")
        }
    }
}
