import Dispatch
import Foundation
import Glibc

/// A private PostgreSQL server under /tmp, on a free port of 127.0.0.1; it ends with this process, however that ends.
actor Cluster {
    nonisolated let port: Int
    nonisolated let folder: String
    private let settings: [String]

    private static let sharedStart = Task { try await Cluster.start() }

    /// The server for tests that leave it unchanged.
    static var shared: Cluster { get async throws { try await sharedStart.value } }

    nonisolated var url: String { "postgres://postgres@127.0.0.1:\(port)/postgres" }

    /// Creates a new server and starts it.
    static func start(settings: [String] = []) async throws -> Cluster {
        let cluster = Cluster(settings: settings)
        try await run(asPostgres: "mkdir '\(cluster.folder)' && cp -a '\(Workplace.shared.template)' '\(cluster.data)'")
        try await cluster.resume()
        return cluster
    }

    /// Creates a streaming standby of this server and starts it.
    func standby() async throws -> Cluster {
        let standby = Cluster(settings: settings)
        try await run(
            asPostgres: """
                mkdir '\(standby.folder)' && pg_basebackup -h 127.0.0.1 -p \(port) -U postgres -R -c fast \
                -D '\(standby.data)'
                """
        )
        try await standby.resume()
        return standby
    }

    private init(settings: [String]) {
        port = freePort()
        folder = "\(Workplace.shared.folder)/\(port)"
        self.settings = settings
    }

    private nonisolated var data: String { "\(folder)/data" }

    /// Starts the server and returns when it accepts connections.
    func resume() async throws {
        let own = ["port=\(port)", "listen_addresses=127.0.0.1", "unix_socket_directories=\(folder)", "fsync=off"]
        let options = (own + settings).map { "-c \($0)" }.joined(separator: " ")
        try await run(asPostgres: "pg_ctl -D '\(data)' -l '\(folder)/log' -o '\(options)' -w start")
    }

    func stop(_ mode: String = "immediate") async throws {
        try await run(asPostgres: "pg_ctl -D '\(data)' -m \(mode) -w stop")
    }

    func promote() async throws {
        try await run(asPostgres: "pg_ctl -D '\(data)' -w promote")
    }

    /// Runs one statement in psql, independently of the driver under test, and returns the output.
    @discardableResult
    nonisolated func psql(_ sql: String) async throws -> String {
        try await run(
            asPostgres: "psql -X -A -t -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p \(port) -d postgres -c \"\(sql)\""
        )
    }
}

/// The folder of all servers of this process.
private struct Workplace {
    let folder: String
    /// A data folder that is copied for new servers, since initdb takes seconds.
    let template: String

    static let shared = Workplace()

    init() {
        folder = "/tmp/postgres-tests-\(getpid())"
        template = "\(folder)/template"
        let end = asPostgres(
            "cat \(folder)/*/*.pid | xargs kill; for data in \(folder)/*/data; do pg_ctl -D $data -m immediate stop; done"
        )
        // The shell waits for input from a pipe; the kernel closes the pipe when this process ends, and the shell
        // cleans up.
        let janitor = popen("(read line; \(end); rm -rf '\(folder)') >/dev/null 2>&1", "we")
        precondition(janitor != nil, "no shell")
        let owner = getuid() == 0 ? "chown postgres '\(folder)'; " : ""
        let make = asPostgres("initdb --no-sync -A trust -U postgres -E UTF8 --locale=C.UTF-8 -D '\(template)'")
        _ = system("mkdir '\(folder)'; \(owner)(\(make)) >/dev/null 2>&1")
    }
}

struct ShellFailure: Error {
    let command: String
    let output: String
}

/// Runs a command as a system user that PostgreSQL accepts, and returns the output.
///
/// It uses `system`: for Foundation's `Process` a command runs until everything that it started has ended.
@discardableResult
func run(asPostgres command: String) async throws -> String {
    let output = "/tmp/postgres-tests-\(UUID().uuidString).out"
    defer { unlink(output) }
    let status = await withCheckedContinuation { (done: CheckedContinuation<Int32, Never>) in
        DispatchQueue.global().async {
            done.resume(returning: system("(\(asPostgres(command))) >'\(output)' 2>&1 </dev/null"))
        }
    }
    let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
    guard status == 0 else { throw ShellFailure(command: command, output: text) }
    return text
}

private func asPostgres(_ command: String) -> String {
    let path = "PATH=/usr/lib/postgresql/15/bin:/usr/sbin:$PATH"
    guard getuid() == 0 else { return "export \(path); \(command)" }
    let quoted = command.replacingOccurrences(of: "'", with: "'\\''")
    return "cd /; \(path) setpriv --reuid=postgres --regid=postgres --init-groups sh -c '\(quoted)'"
}

/// Returns a port of 127.0.0.1 on which nothing listens at this moment.
func freePort() -> Int {
    let (descriptor, port) = listeningSocket()
    close(descriptor)
    return port
}

/// Returns a socket that listens on a free port of 127.0.0.1, and that port.
func listeningSocket() -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            _ = bind(descriptor, pointer, length)
            _ = listen(descriptor, 16)
            _ = getsockname(descriptor, pointer, &length)
        }
    }
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
}
