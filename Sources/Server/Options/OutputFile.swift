import ArgumentParser
import Glibc

/// Where a command puts a document: standard output, or the file of `-o`.
struct OutputFileOption: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: "Write to this file, which is made anew for its owner alone; links are not followed.",
        completion: .file()
    )
    var path: String?

    /// Writes text and a line break behind it.
    ///
    /// The file is another one than what had its name before, with mode 0600, and whole from the moment at which it has
    /// the name: nobody who could read the former one, or who put a link there, reads or leads this one.
    ///
    /// - Throws: An exit code after saying why it cannot be written.
    func write(_ text: String) throws {
        guard let path else { return try Terminal.print(text + "\n") }
        try Self.requirePlain(path)
        var name = Array((path + ".XXXXXX").utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw Self.cannotWrite(path, Exit.cannotCreate) }
        let isWritten = Terminal.write(text + "\n", to: descriptor) && fsync(descriptor) == 0
        guard close(descriptor) == 0, isWritten else {
            defer { unlink(name) }
            throw Self.cannotWrite(path, Exit.inputOutput)
        }
        guard rename(name, path) == 0 else {
            defer { unlink(name) }
            throw Self.cannotWrite(path, Exit.cannotCreate)
        }
    }

    /// Refuses a name that something has which is not to be replaced: a link, a folder, a device, a pipe.
    private static func requirePlain(_ path: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
        throw Exit.saying(
            "\(path): is no plain file; name one, or leave -o out and redirect standard output",
            Exit.cannotCreate
        )
    }

    private static func cannotWrite(_ path: String, _ code: ExitCode) -> ExitCode {
        Exit.saying("\(path): cannot be written: \(Exit.systemError)", code)
    }
}
