import Glibc
import NIOPosix

/// An error: a process could not be started.
package struct SpawnFailure: Error, CustomStringConvertible {
    package let program: String
    package let errno: Int32

    package var description: String { "cannot start \(program): \(String(cString: strerror(errno)))" }
}

/// Starts child processes that cannot outlive the test process.
///
/// The command `setpriv --pdeathsig` asks the kernel to kill the child when its parent ends, and then executes the
/// program in the same process. For the kernel, the parent is the *thread* that has started the child. Threads of
/// Swift's own pool may end. Therefore this type starts all children from one thread that never ends.
enum ProcessSpawner {
    private static let thread: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    /// A started program, and the descriptors from which its standard output and standard error are read.
    struct Child {
        let pid: pid_t
        let output: Int32
        let errors: Int32
    }

    /// Starts a program in a process group of its own, with /dev/null as standard input.
    ///
    /// The program inherits no descriptor but the two pipes. An inherited listening socket would keep listening.
    static func spawn(
        program: String,
        arguments: [String],
        environment: [String: String]
    ) async throws -> Child {
        try await thread.runIfActive {
            let output = try makePipe(for: program)
            let errors = try makePipe(for: program)
            defer {
                close(output.write)
                close(errors.write)
            }
            do {
                let pid = try spawnHere(
                    ["setpriv", "--pdeathsig", "KILL", "--", program] + arguments,
                    environment.map { "\($0.key)=\($0.value)" },
                    output: output.write,
                    errors: errors.write
                )
                return Child(pid: pid, output: output.read, errors: errors.read)
            } catch {
                close(output.read)
                close(errors.read)
                throw error
            }
        }
    }

    private static func makePipe(for program: String) throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SpawnFailure(program: program, errno: errno) }
        return (ends[0], ends[1])
    }

    private static func spawnHere(
        _ arguments: [String],
        _ environment: [String],
        output: Int32,
        errors: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, errors, 2)
        guard let closeFrom else { throw SpawnFailure(program: arguments[4], errno: ENOSYS) }
        _ = closeFrom(&actions, 3)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The child starts with the default handling of signals, even if the test runner ignores or blocks some.
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
        )

        var pid: pid_t = 0
        let status = withCStrings(arguments) { argv in
            withCStrings(environment) { posix_spawnp(&pid, "setpriv", &actions, &attributes, argv, $0) }
        }
        guard status == 0 else { throw SpawnFailure(program: arguments[4], errno: status) }
        return pid
    }

    private typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, CInt) -> CInt

    /// The function `posix_spawn_file_actions_addclosefrom_np`.
    ///
    /// glibc has it since 2.34, but its Swift module does not.
    private static let closeFrom: CloseFrom? = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
        // The type is that of <spawn.h>.
        unsafeBitCast($0, to: CloseFrom.self)
    }

    /// Calls a closure with the strings as the null-terminated array that `exec` takes.
    private static func withCStrings<Result>(
        _ strings: [String],
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("the array holds at least the final nil") }
            return body(base)
        }
    }
}
