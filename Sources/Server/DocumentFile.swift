import ArgumentParser
import Federation
import FoundationEssentials

/// Reads application documents from files.
enum DocumentFile {
    /// The document in the file, with its problems on standard error, each on a line with the file's name in front.
    static func read(_ path: String) throws -> ApplicationDocument {
        guard let data = try? Data(contentsOf: URL(filePath: path)) else {
            throw Exit.saying("\(path): cannot be read", Exit.noInput)
        }
        do {
            return try ApplicationDocument(text: Array(data))
        } catch {
            throw report(error, of: path)
        }
    }

    /// Says all problems and gives the code to throw.
    static func report(_ problems: DocumentProblems, of path: String) -> ExitCode {
        let lines = problems.description.split(separator: "\n").map { "\(path): \($0)" }
        return Exit.saying(lines.joined(separator: "\n"), Exit.dataError)
    }
}
