import ArgumentParser
import Postgres
import Store

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Migrate the database to the schema of this version.",
        discussion: """
            Applies schema.sql under one lock, application by application, while logins continue. You can safely run \
            it again or several times at once. psql -v ON_ERROR_STOP=1 -f schema.sql does the same. Applications' own \
            databases are migrated after the main one, with the URLs in their variables.

            Example:
              federation migrate
            """
    )

    func run() async throws {
        let configuration: PostgresConfiguration
        do { configuration = try ConfigurationReader.readDatabase() } catch let problems as ConfigurationProblems {
            throw Exit.saying("\(problems)", Exit.configuration)
        }
        // One statement upgrades all applications, with a transaction for each.
        try await DatabaseTask.run(configuration, statementsWithin: .seconds(3600)) { store in
            try await store.migrate()
            let version = try await store.schemaVersion()
            try Terminal.report("The database has schema version \(version).")
            var problem: ExitCode?
            for (variable, failure) in try await store.migrateOwnDatabases() {
                if let failure {
                    problem = Exit.saying(failure)
                } else {
                    try Terminal.report("The database of \(variable) has schema version \(version).")
                }
            }
            if let problem { throw problem }
        }
    }
}
