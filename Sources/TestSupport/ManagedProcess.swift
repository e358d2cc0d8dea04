import Glibc
import NIOConcurrencyHelpers

/// The way in which a process ended.
package enum ProcessEnd: Sendable, Equatable {
    case exited(Int32)
    case signalled(Int32)
}

/// A child process whose output is collected.
///
/// When the test process ends, the child process is killed. If only this object is released, the process keeps running,
/// since Swift may release an object after its last use, in the middle of a test.
package final class ManagedProcess: Sendable {
    /// The process id.
    ///
    /// To send a signal, use ``send(signal:)``, which cannot hit a later process with the same id.
    package let pid: Int32
    /// The name of the process in error messages.
    package let name: String

    private let output = ProcessOutput()
    private let exit = NIOLockedValueBox<ProcessEnd?>(nil)

    private init(pid: Int32, name: String) {
        self.pid = pid
        self.name = name
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: A path, or a name on the `PATH`.
    ///   - arguments: The arguments, without the program itself.
    ///   - environment: The environment, in addition to ``inheritedVariables``. The program gets nothing else of the
    ///     test process's environment.
    /// - Returns: The handle. The program may not have begun to execute yet.
    /// - Throws: ``SpawnFailure``. If the program does not exist, there is no error, and the process ends with status
    ///   127.
    package static func start(
        _ program: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:]
    ) async throws -> ManagedProcess {
        let name = program.split(separator: "/").last.map(String.init) ?? program
        let child = try await ProcessSpawner.spawn(
            program: program,
            arguments: arguments,
            environment: inheritedEnvironment.merging(environment) { _, given in given }
        )
        let process = ManagedProcess(pid: child.pid, name: name)
        process.output.collect(output: child.output, errors: child.errors)
        process.reapOnExit()
        return process
    }

    /// The names of the environment variables that a child inherits from the test process.
    package static let inheritedVariables = [
        "PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE", "TSAN_OPTIONS", "ASAN_OPTIONS",
        "SWIFT_BACKTRACE",
    ]

    private static let inheritedEnvironment: [String: String] = {
        var environment: [String: String] = [:]
        for name in inheritedVariables {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        return environment
    }()

    private func reapOnExit() {
        startThread { [pid, exit] in
            var info = siginfo_t()
            while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
            // Reaping frees the id for another process. The lock keeps a signal from being sent to that process.
            exit.withLockedValue { exit in
                var status: Int32 = 0
                waitpid(pid, &status, 0)
                exit = status & 0x7F == 0 ? .exited((status >> 8) & 0xFF) : .signalled(status & 0x7F)
            }
        }
    }

    // MARK: End

    /// The exit status; `nil` while the process runs.
    package var exitStatus: ProcessEnd? { exit.withLockedValue { $0 } }

    /// Whether the process still runs.
    package var isRunning: Bool { exitStatus == nil }

    /// Waits until the process ends by itself or by a signal.
    ///
    /// - Returns: The exit status.
    /// - Throws: ``DeadlinePassed``. The process then keeps running.
    @discardableResult
    package func waitForExit(within limit: Duration = .seconds(30)) async throws -> ProcessEnd {
        let status = try await eventually("\(name) (\(pid)) ends", within: limit, every: .milliseconds(2)) {
            exitStatus
        }
        // The last output may still be in the pipes.
        output.processHasEnded()
        try await eventually("the output of \(name) is read", within: limit, every: .milliseconds(1)) {
            output.isDrained
        }
        return status
    }

    /// Sends a signal.
    ///
    /// Does nothing if the process has ended.
    package func send(signal: Int32) {
        exit.withLockedValue { exit in
            if exit == nil { _ = Glibc.kill(pid, signal) }
        }
    }

    /// Asks the process to end (SIGTERM) and waits.
    ///
    /// Kills the process at the deadline.
    ///
    /// - Returns: The exit status.
    /// - Throws: ``DeadlinePassed`` if the process was killed.
    @discardableResult
    package func terminate(within limit: Duration = .seconds(20)) async throws -> ProcessEnd {
        send(signal: SIGTERM)
        do {
            return try await waitForExit(within: limit)
        } catch {
            try await kill()
            throw error
        }
    }

    /// Kills the process (SIGKILL), even if it is frozen, and waits for its end.
    package func kill() async throws {
        send(signal: SIGKILL)
        try await waitForExit()
    }

    /// Suspends the process (SIGSTOP).
    ///
    /// The process does not notice this.
    package func freeze() { send(signal: SIGSTOP) }

    /// Resumes a frozen process.
    package func thaw() { send(signal: SIGCONT) }

    // MARK: Observation

    /// The standard output so far as text, with invalid UTF-8 replaced.
    package var standardOutput: String { String(decoding: output.bytes.output, as: UTF8.self) }

    /// The standard error so far.
    package var standardError: String { String(decoding: output.bytes.errors, as: UTF8.self) }

    /// Returns the current memory, processor time and descriptors.
    ///
    /// - Throws: An error of the file system when the process has ended.
    package func usage() throws -> ProcessUsage { try ProcessUsage(of: pid) }

    /// Waits until the process is ready.
    ///
    /// - Parameters:
    ///   - limit: The deadline.
    ///   - condition: Returns whether the process is ready. An error means that it is not ready yet.
    /// - Throws: ``ProcessEnded`` as soon as the process has ended; ``DeadlinePassed`` after the deadline.
    package func waitUntilReady(
        within limit: Duration = .seconds(30),
        _ condition: () async throws -> Bool
    ) async throws {
        let isReady = try await eventually("\(name) (\(pid)) is ready", within: limit) { () -> Bool? in
            guard isRunning else { return false }
            return try await condition() ? true : nil
        }
        guard isReady else { throw try await ended() }
    }

    func ended() async throws -> ProcessEnded {
        ProcessEnded(
            name: name,
            status: try await waitForExit(),
            standardOutput: standardOutput,
            standardError: standardError
        )
    }
}

/// An error: a process ended unexpectedly, or with a wrong status.
package struct ProcessEnded: Error, CustomStringConvertible {
    package let name: String
    package let status: ProcessEnd
    package let standardOutput: String
    package let standardError: String

    package var description: String {
        "\(name) ended: \(status)\n\(standardOutput.suffix(2000))\n\(standardError.suffix(4000))"
    }
}

/// Runs a program and waits for its end.
///
/// - Returns: The ended process with its output.
/// - Throws: ``SpawnFailure``; ``DeadlinePassed`` after the program was killed.
package func run(
    _ program: String,
    _ arguments: [String] = [],
    environment: [String: String] = [:],
    within limit: Duration = .seconds(120)
) async throws -> ManagedProcess {
    let process = try await ManagedProcess.start(program, arguments, environment: environment)
    do {
        try await process.waitForExit(within: limit)
    } catch {
        try await process.kill()
        throw error
    }
    return process
}

/// Runs a program and requires success.
///
/// - Returns: The standard output.
/// - Throws: ``ProcessEnded`` if the status is not 0, and the errors of ``run(_:_:environment:within:)``.
@discardableResult
func runSuccessfully(
    _ program: String,
    _ arguments: [String],
    environment: [String: String] = [:]
) async throws -> String {
    let process = try await run(program, arguments, environment: environment)
    guard process.exitStatus == .exited(0) else { throw try await process.ended() }
    return process.standardOutput
}
