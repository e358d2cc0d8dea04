import Administration
import Encodings
import Store

/// Reports what a command found about records of a file, in a file or on standard error.
final class ImportReport {
    /// The maximum number of findings that are printed to standard error if there is no report file.
    private static let maxReported = 20

    private let path: String?
    private let title: String
    private let file: NewFile?
    private var isKept = false
    private var count = 0

    /// Begins the report.
    ///
    /// - Parameters:
    ///   - path: The path of the report file, which appears there when the report is complete; nil for no file.
    ///   - title: The name of the findings, such as `Refused records`.
    ///   - input: The file with the records, which must not be overwritten by the report.
    /// - Throws: An exit code after printing why the file cannot be created.
    init(_ path: String?, of title: String, on input: ImportFile) throws {
        (self.path, self.title) = (path, title)
        if let path, input.isFile(at: path) {
            throw Exit.saying("\(path): is the input file; choose another file", Exit.cannotCreate)
        }
        file = try path.map { try NewFile($0, instead: "leave --report out") }
    }

    deinit {
        if !isKept { file?.discard() }
    }

    func add(_ finding: RecordFinding) throws {
        count += 1
        guard let file else {
            if count <= Self.maxReported { Terminal.say("Line \(finding.line): \(finding.message)") }
            return
        }
        try file.write(JSONValue.object(finding.json).text + "\n")
    }

    /// Completes the report: renames the report file to its final name, and prints the number of findings.
    func end() throws {
        isKept = true
        try file?.keep()
        guard count > 0 else { return }
        if let path {
            Terminal.say("\(title): \(count). See \(path).")
        } else if count > Self.maxReported {
            Terminal.say("\(title): \(count). Use --report FILE for all of them.")
        }
    }
}
