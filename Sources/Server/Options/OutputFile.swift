import ArgumentParser
import Glibc

/// Where a command puts a document: standard output, or the file of `-o`.
struct OutputFileOption: ParsableArguments {
    @Option(name: [.customShort("o"), .customLong("output")], help: "Write to this file.", completion: .file())
    var path: String?

    /// Writes text and a line break behind it; a file that is made can be read by its owner alone.
    ///
    /// - Throws: An exit code after saying why it cannot be written.
    func write(_ text: String) throws {
        guard let path else { return try Terminal.print(text + "\n") }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Exit.saying("\(path): cannot be written: \(Exit.systemError)", Exit.cannotCreate)
        }
        let isWritten = Terminal.write(text + "\n", to: descriptor)
        guard close(descriptor) == 0, isWritten else {
            throw Exit.saying("\(path): cannot be written: \(Exit.systemError)", Exit.inputOutput)
        }
    }
}
