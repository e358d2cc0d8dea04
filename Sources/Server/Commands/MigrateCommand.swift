import ArgumentParser
import Postgres
import Store

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Bring the database to the schema of this version.",
        discussion: """
            Applies schema.sql, in one transaction and under one lock; running it again, or many at once, is safe. \
            psql -v ON_ERROR_STOP=1 -f schema.sql does the same.

            Example:
              federation migrate
            """
    )

    func run() async throws {
        let configuration: PostgresConfiguration
        do { configuration = try await ConfigurationReader.readDatabase() } catch let problems as ConfigurationProblems
        {
            throw Exit.saying("\(problems)", Exit.configuration)
        }
        try await DatabaseTask.run(configuration) { store in
            try await store.migrate()
            try Terminal.report("The database has schema version \(try await store.schemaVersion()).")
        }
    }
}
