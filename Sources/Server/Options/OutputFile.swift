import ArgumentParser
import Glibc

/// The option `-o`, which names the file to which a command writes a document.
///
/// Without the option, the command writes to standard output.
struct OutputFileOption: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: "Write to this file. It is created anew, readable only for its owner. Links are not followed.",
        completion: .file()
    )
    var path: String?

    /// Writes a text and a line break to the destination.
    ///
    /// A file is complete when it appears under its name.
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

    /// Writes a document in parts to a new file of mode 0600, or to standard output.
    ///
    /// The file gets its name only when it is complete. If `body` fails, no file appears under the name.
    ///
    /// Other users of the machine cannot read the new file, even if they could read a former file of this name. If they
    /// have put a link there, it is not followed.
    ///
    /// - Parameter body: Receives the function that writes a part.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; an exit code after printing why the file cannot be written.
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

    /// Creates the output file under a temporary name; nil for standard output.
    private func openFile() throws -> NewFile? {
        guard let path else { return nil }
        return try NewFile(path, instead: "leave -o out and redirect standard output")
    }
}

/// A new file of mode 0600, under a temporary name until it is complete.
struct NewFile {
    private let path: String
    private let name: [CChar]
    private let descriptor: Int32

    /// Creates the file under a temporary name.
    ///
    /// - Parameters:
    ///   - path: The final name.
    ///   - remedy: What the error message advises if the final name is that of a link, a folder, a device or a pipe.
    ///     The file replaces none of these.
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
