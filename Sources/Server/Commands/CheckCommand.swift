import Administration
import ArgumentParser

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check application documents.",
        discussion: """
            Prints each problem on a line with file and JSON pointer, and exits with 65. Without problems, it prints a \
            summary and exits with 0. No configuration is needed, except with --live: then the documents are also \
            checked against the database, with the secrets of the environment variables that they name. Providers are \
            asked for the fields of the mappings, once a user has logged in with them.

            Examples:
              federation check mappings/demo.json
              federation check --live mappings/*.json
              federation check --strict mappings/demo.json
            """
    )

    @Argument(help: "Application documents, or - for standard input.", completion: .file(extensions: ["json"]))
    var files: [String]

    @Flag(help: "Also check against the database and providers.")
    var live = false

    @OptionGroup var strictness: StrictOption

    func run() async throws {
        let (files, strictness) = (files, strictness)
        guard live else {
            return try await Self.forEach(files) { path in
                let file = try DocumentFile(path)
                try Self.report(file)
                try strictness.check(file.document.warnings)
            }
        }
        try await AdministrationTask.run(masterKey: .reads) { administration, _ in
            try await Self.forEach(files) { path in
                let file = try DocumentFile(path)
                let plan = try await file.plan { try await administration.documents.plan($0, environment: $1) }
                try Self.report(file, plan)
                try await file.checkFields { try await administration.documents.checkFields(of: $0, environment: $1) }
                try strictness.check(plan.warnings)
            }
        }
    }

    /// Checks all documents, even if one is invalid; then throws the exit code of the last invalid document, if any.
    private static func forEach(_ files: [String], _ check: (String) async throws -> Void) async throws {
        var wrong: ExitCode?
        for file in files {
            do { try await check(file) } catch let code as ExitCode { wrong = code }
        }
        if let wrong { throw wrong }
    }

    private static func report(_ file: DocumentFile, _ plan: ApplicationPlan? = nil) throws {
        let document = file.document
        try Terminal.report(
            "\(InputFile.name(file.path)): application \(document.id), \(document.properties.count) properties, "
                + "\(document.mappingEntryCount) mapping entries: valid"
                + (plan.map { "; applying it makes \($0.changes.count) changes" } ?? "")
        )
        for warning in plan?.warnings ?? document.warnings { Terminal.say("warning: \(warning)") }
    }
}
