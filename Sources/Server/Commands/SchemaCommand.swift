import Administration
import ArgumentParser
import Providers

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of application documents.",
        discussion: """
            An editor that knows the schema completes and checks documents while you type. Needs no configuration.

            Example:
              federation schema > application.schema.json
            """
    )

    func run() throws {
        try Terminal.print(ApplicationSchema.text(try .forDocuments()))
    }
}
