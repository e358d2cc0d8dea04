import ArgumentParser
import Glibc

/// The destination of a document: standard output, or the file of `-o`.
struct OutputFileOption: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: "Write to this file. It is created anew, readable only for its owner. Links are not followed.",
        completion: .file()
    )
    var path: String?

    /// Writes a text and a line break to the destination; a file gets its name only when it is complete.
    ///
    /// - Throws: An exit code after printing why the file cannot be written.
    func write(_ text: String) throws {
        guard let file = try openFile() else { return try Terminal.print(text + "\n") }
        do { try file.write(text + "\n") } catch {
            file.discard()
            throw error
        }
        try file.keep()
    }

    /// Writes a document in parts.
    ///
    /// The file is new and has mode 0600. It gets its name only when it is complete. A user may have been able to read
    /// the former file, or may have put a link in its place: this user can neither read nor redirect the new file. A
    /// document that the body leaves unfinished never gets the name.
    ///
    /// - Parameter body: Receives the function that writes.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; an exit code after printing why the file cannot be written.
    func stream<Value>(_ body: (_ write: (String) throws -> Void) async throws -> Value) async throws -> Value {
        guard let file = try openFile() else { return try await body { try Terminal.print($0) } }
        let value: Value
        do { value = try await body { try file.write($0) } } catch {
            file.discard()
            throw error
        }
        try file.keep()
        return value
    }

    /// Creates the file; nil for standard output.
    private func openFile() throws -> NewFile? {
        guard let path else { return nil }
        return try NewFile(path, instead: "leave -o out and redirect standard output")
    }
}

/// A file of mode 0600 under a temporary name.
///
/// It gets its final name when it is complete.
struct NewFile {
    private let path: String
    private let name: [CChar]
    private let descriptor: Int32

    /// - Parameters:
    ///   - path: The final name.
    ///   - remedy: What to do instead if the name belongs to a link, a folder, a device or a pipe. These are not
    ///     replaced.
    /// - Throws: An exit code after printing why the file cannot be created.
    init(_ path: String, instead remedy: String) throws {
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw Exit.saying("\(path): is not a plain file; choose another file, or \(remedy)", Exit.cannotCreate)
        }
        var name = Array((path + ".XXXXXX").utf8CString)
        self.path = path
        descriptor = mkstemp(&name)
        self.name = name
        guard descriptor >= 0 else { throw cannotWrite(Exit.cannotCreate) }
    }

    func write(_ text: String) throws {
        guard Terminal.write(text, to: descriptor) else { throw cannotWrite(Exit.inputOutput) }
    }

    /// Closes the file and gives it its final name.
    func keep() throws {
        let isWritten = fsync(descriptor) == 0
        guard close(descriptor) == 0, isWritten else {
            defer { unlink(name) }
            throw cannotWrite(Exit.inputOutput)
        }
        guard rename(name, path) == 0 else {
            defer { unlink(name) }
            throw cannotWrite(Exit.cannotCreate)
        }
    }

    /// Closes the file and removes it.
    func discard() {
        close(descriptor)
        unlink(name)
    }

    private func cannotWrite(_ code: ExitCode) -> ExitCode {
        Exit.saying("\(path): cannot be written: \(Exit.systemError)", code)
    }
}
