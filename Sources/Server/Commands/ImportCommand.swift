import Administration
import ArgumentParser
import Domain
import Encodings

struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Check imports of users: check.",
        subcommands: [Check.self]
    )

    struct Check: AdministrationCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compare an export with the users who are here, and change nothing.",
            discussion: """
                Reads the file of an import of users; give the options of that import. Each record is complete, differs \
                (its user has other values), is incomplete (its user lacks an identity or a password), is missing (its \
                user is not here) or is refused. The command also counts e-mail addresses and login names of the file \
                that another user here or an earlier record has, values that no property takes, and other values by \
                property. It never prints a value. If records are incomplete, missing or refused, it exits with 1.

                Examples:
                  federation import check demo Users.csv --from backendless \\
                    --identity facebook=facebookId,app=1234567890 \\
                    --report findings.ndjson
                """
        )

        @OptionGroup var application: ApplicationArgument
        @OptionGroup var source: ImportSourceOptions

        @Option(
            help: ArgumentHelp("Write the findings to this file, one JSON object per line.", valueName: "file"),
            completion: .file()
        )
        var report: String?

        @OptionGroup var output: OutputOptions

        var masterKeyUse: MasterKeyUse { .reads }

        var inputFiles: [String] { source.inputFiles }

        func run(_ administration: Administration, by actor: ChangeAuthor) async throws {
            let file = try ImportFile(source.file)
            let report = try ImportReport(report, of: "Findings", on: file)
            var progress = Progress("records", isShown: true)
            var bytesRead = 0
            let job = try source.job(on: file, into: application) { bytesRead += $0 }
            let summary = try await administration.userImport.compare(
                job,
                by: actor,
                progress: { counts in
                    progress.show(counts.records, "\(file.percent(of: bytesRead)) % read: \(counts.missing) missing")
                },
                found: report.add
            )
            progress.end()
            try report.end()
            try output.show(
                .object(summary.json),
                [
                    OutputOptions.Section(
                        member: "identities",
                        columns: [
                            Column("PROVIDER", "provider", .id), Column("HERE", "here", .id),
                            Column("MISSING", "missing", .id), Column("OF OTHERS", "ofOthers", .id),
                        ]
                    ),
                    OutputOptions.Section(
                        member: "differences",
                        columns: [Column("PROPERTY", "property", .id), Column("RECORDS", "records", .id)]
                    ),
                    OutputOptions.Section(
                        member: "unmapped",
                        columns: [Column("FIELD", "field", .id), Column("RECORDS", "records", .id)]
                    ),
                ]
            )
            if summary.counts.lackSomething { throw Exit.difference }
        }
    }
}
