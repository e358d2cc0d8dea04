import ArgumentParser
import Encodings
import Glibc

/// A file that a command reads: a path, or `-` for standard input.
enum InputFile {
    /// The maximum size of an input file in bytes: that of an application document, since every secret is shorter.
    static let maxBytes = JSONLimits.document.bytes

    /// Reads the file at the path, or standard input for `-`.
    ///
    /// - Throws: An exit code after printing why the file cannot be read.
    static func bytes(_ path: String) throws -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(path) }
        defer { if path != "-" { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path) }
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(count)
            guard bytes.count <= maxBytes else {
                throw Exit.saying("\(name(path)): has more than \(maxBytes) bytes", Exit.dataError)
            }
        }
    }

    /// Reads a JSON value from the file at the path, or from standard input for `-`.
    static func json(_ path: String) throws -> JSONValue {
        do { return try JSONParser.parse(try bytes(path), limits: .document) } catch let error as JSONError {
            throw Exit.saying("\(name(path)): \(error)", Exit.dataError)
        }
    }

    /// Checks, without reading the file's contents, that the file can be read.
    ///
    /// - Throws: An exit code after printing why the file cannot be read.
    static func requireReadable(_ path: String) throws {
        guard path == "-" || access(path, R_OK) == 0 else { throw unreadable(path) }
    }

    /// Returns the name of the file for messages: its path, or `standard input` for `-`.
    static func name(_ path: String) -> String { path == "-" ? "standard input" : path }

    private static func unreadable(_ path: String) -> ExitCode {
        Exit.saying("\(name(path)): cannot be read: \(Exit.systemError)", Exit.noInput)
    }
}
