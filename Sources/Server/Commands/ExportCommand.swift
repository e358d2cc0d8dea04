import Administration
import ArgumentParser
import Domain

struct ExportCommand: AdministrationCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print an application as a document that apply takes back.",
        discussion: """
            Keys and app secrets stand in it as the names of environment variables, for which apply needs their values.

            Examples:
              federation export demo -o mappings/demo.json
              federation export demo | federation check -
            """
    )

    @OptionGroup var application: ApplicationArgument
    @OptionGroup var file: OutputFileOption

    func run(_ administration: Administration, by actor: Actor) async throws {
        try file.write(try await administration.documents.read(of: application.id).body.indented)
    }
}
