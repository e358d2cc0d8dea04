import Foundation
import Glibc

/// A program of the system, started with `posix_spawn`.
///
/// Foundation's `Process` passes the blocked signals of its thread to the child, and crashes when several threads
/// start a process among thousands of descriptors.
struct Program: Sendable {
    let identifier: pid_t
    private let output: Int32

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Starts the program `name`, found in the usual folders, with both of its outputs on one pipe.
    init(_ name: String, _ arguments: [String]) throws {
        guard let path = Self.path(of: name) else {
            throw Failure(description: "\(name) is missing: apt-get install \(Self.packages[name] ?? name)")
        }
        Self.descriptors.lock()
        defer { Self.descriptors.unlock() }
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure(description: "pipe: errno \(errno)") }
        for end in ends { Self.keepFromChildren(end) }
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&files, ends[1], 1)
        posix_spawn_file_actions_adddup2(&files, ends[1], 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var identifier: pid_t = 0
        let result = posix_spawn(&identifier, path, &files, &attributes, &words, environ)
        close(ends[1])
        guard result == 0 else {
            close(ends[0])
            throw Failure(description: "\(path): errno \(result)")
        }
        self.identifier = identifier
        output = ends[0]
    }

    /// Reads the program's output until the program ends; call it only once.
    func finish() -> (status: Int32, output: [UInt8]) {
        var gathered: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(output, &piece, piece.count)
            guard count > 0 else { break }
            gathered += piece[..<count]
        }
        close(output)
        var status: Int32 = 0
        waitpid(identifier, &status, 0)
        return (status, gathered)
    }

    /// Ends the program and returns its output.
    @discardableResult
    func stop() -> [UInt8] {
        kill(identifier, SIGTERM)
        return finish().output
    }

    /// Runs a program to its end.
    static func run(_ name: String, _ arguments: [String]) throws -> (status: Int32, output: [UInt8]) {
        try Program(name, arguments).finish()
    }

    /// Guards the start of a program, and the time from the creation of a descriptor until it has `FD_CLOEXEC`.
    ///
    /// A socket that a child holds open, too, does not close when a test closes it.
    static let descriptors = NSLock()

    static func keepFromChildren(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    private static let packages = ["nginx": "nginx-light"]

    private static func path(of name: String) -> String? {
        ["/usr/bin", "/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"]
            .map { "\($0)/\(name)" }
            .first { access($0, X_OK) == 0 }
    }
}

/// Creates an empty folder and returns its URL.
func temporaryDirectory() throws -> URL {
    let directory = FileManager.default.temporaryDirectory.appending(path: "curl-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    return directory
}
