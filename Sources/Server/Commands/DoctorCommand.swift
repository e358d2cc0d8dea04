import Administration
import ArgumentParser

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the service, and say what to do about problems.",
        discussion: """
            Checks the configuration, PostgreSQL (version, settings, clock, connections, rights, statistics, indexes), \
            the schema, the master keys, mail, and the applications. Providers are asked about app ids, secrets and \
            the fields of mappings. It changes nothing. Exits with 0 if all checks pass, with 1 if something should be \
            changed.

            Examples:
              federation doctor
              federation doctor --application demo --json
              federation doctor --offline && echo "all is well"
            """
    )

    @Option(
        help: ArgumentHelp("Check only this application. By default, the first hundred.", valueName: "application")
    )
    var application: String?

    @Flag(help: "Do not ask providers.")
    var offline = false

    @Flag(help: "Also show passed checks.")
    var all = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let (application, offline, all, output) = (application, offline, all, output)
        let problems = ConfigurationReader.problems().map {
            Finding(
                .error,
                .configuration,
                $0,
                advice: "`federation serve` does not start with this configuration. See docs/configuration.md."
            )
        }
        let configuration =
            problems.isEmpty
            ? [Finding(.ok, .configuration, "The configuration is valid for federation serve.")] : problems
        try await AdministrationTask.run(masterKey: .any, requiringDatabase: false) { administration, _ in
            let findings =
                configuration
                + (try await administration.doctor.examine(
                    application: application,
                    askingProviders: !offline
                ))
            if output.json {
                try output.print(Doctor.document(findings))
            } else {
                try Terminal.print(Self.lines(all ? findings : findings.filter { $0.severity != .ok }))
            }
            guard findings.allSatisfy({ $0.severity == .ok }) else { throw Exit.difference }
        }
    }

    /// Returns a paragraph for each finding: the problem and its remedy.
    private static func lines(_ findings: [Finding]) -> String {
        guard !findings.isEmpty else { return "All checks passed.\n" }
        return findings.map { finding in
            let place = [finding.subject.rawValue, finding.name].compactMap(\.self).joined(separator: " ")
            let first = TerminalText.escaped("\(finding.severity.rawValue)  \(place): \(finding.text)")
            return ([first] + (finding.advice.map { ["         " + TerminalText.escaped($0)] } ?? []))
                .joined(separator: "\n") + "\n"
        }.joined()
    }
}
