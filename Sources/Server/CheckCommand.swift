import ArgumentParser
import Federation

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check application documents without a database.",
        discussion: """
            Says everything that is wrong, each with its place, and exits with 65; says what the document holds and exits with \
            0 when nothing is. Needs no configuration.

            Example:
              federation check mappings/demo.json
            """
    )

    @Argument(help: "Application documents (see docs/configuration.md).")
    var files: [String]

    func run() async throws {
        var wrong: ExitCode?
        for file in files {
            do {
                let document = try DocumentFile.read(file)
                let entries = document.mappingEntryCount
                print(
                    "\(file): application \(document.id), \(document.properties.count) properties, \(entries) mapping entries: right"
                )
            } catch let code as ExitCode {
                wrong = code
            }
        }
        if let wrong { throw wrong }
    }
}
