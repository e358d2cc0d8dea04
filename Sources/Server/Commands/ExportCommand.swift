import Administration
import ArgumentParser
import Domain

struct ExportCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print an application as a document for apply.",
        discussion: """
            Keys and app secrets are printed as names of environment variables. apply needs their values.

            Examples:
              federation export demo -o mappings/demo.json
              federation export demo | federation check -
            """
    )

    @OptionGroup var application: ApplicationArgument
    @OptionGroup var file: OutputFileOption

    func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
        try file.write(try await administration.documents.read(of: application.id).body.indented)
    }
}
