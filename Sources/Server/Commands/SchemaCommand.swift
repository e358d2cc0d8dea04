import Administration
import ArgumentParser
import Providers

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of application documents.",
        discussion: """
            Editors use the schema to complete and check documents. No configuration is needed.

            Example:
              federation schema > application.schema.json
            """
    )

    func run() throws {
        try Terminal.print(ApplicationSchema.text(try .forDocuments()))
    }
}
