import Glibc
import NIOConcurrencyHelpers

/// How a process ended.
package enum ProcessEnd: Sendable, Equatable {
    case exited(Int32)
    case signalled(Int32)
}

/// A child process with captured output, which ends at the latest with the test process.
///
/// It is not ended when this handle goes away: a handle may be released after its last use, in the middle of a test.
package final class ManagedProcess: Sendable {
    /// Process id; send signals through ``send(signal:)``, which cannot hit a later process of the same id.
    package let pid: Int32
    /// Name for messages.
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
    ///   - program: A path, or a name to be found on the `PATH`.
    ///   - arguments: Its arguments, without the program itself.
    ///   - environment: Its environment, added to the few variables every program needs (``inheritedVariables``);
    ///     nothing else of the test process's environment reaches it.
    /// - Returns: The handle; the program may still be on its way to its first instruction.
    /// - Throws: ``SpawnFailure``. A program that does not exist ends with status 127 instead.
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

    /// The variables that a child takes over from the test process.
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
            // Reaping frees the id for another process; under the lock no signal is on its way to it.
            exit.withLockedValue { exit in
                var status: Int32 = 0
                waitpid(pid, &status, 0)
                exit = status & 0x7F == 0 ? .exited((status >> 8) & 0xFF) : .signalled(status & 0x7F)
            }
        }
    }

    // MARK: End

    /// How it ended; `nil` while it runs.
    package var exitStatus: ProcessEnd? { exit.withLockedValue { $0 } }

    /// Whether it has not ended yet.
    package var isRunning: Bool { exitStatus == nil }

    /// Waits for its end, by itself or by a signal.
    ///
    /// - Returns: How it ended.
    /// - Throws: ``DeadlinePassed``; the process goes on then.
    @discardableResult
    package func waitForExit(within limit: Duration = .seconds(30)) async throws -> ProcessEnd {
        let status = try await eventually("\(name) (\(pid)) ends", within: limit, every: .milliseconds(2)) {
            exitStatus
        }
        // What it wrote last may still be in the pipes.
        output.processHasEnded()
        try await eventually("the output of \(name) is read", within: limit, every: .milliseconds(1)) {
            output.isDrained
        }
        return status
    }

    /// Sends a signal; nothing happens when the process has ended.
    package func send(signal: Int32) {
        exit.withLockedValue { exit in
            if exit == nil { _ = Glibc.kill(pid, signal) }
        }
    }

    /// Asks it to end (SIGTERM) and waits; past the deadline it is killed.
    ///
    /// - Returns: How it ended.
    /// - Throws: ``DeadlinePassed`` when it had to be killed.
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

    /// Ends it at once (SIGKILL), frozen or not, and waits until it is gone.
    package func kill() async throws {
        send(signal: SIGKILL)
        try await waitForExit()
    }

    /// Stops it from running, without it noticing (SIGSTOP).
    package func freeze() { send(signal: SIGSTOP) }

    /// Lets a frozen process run on.
    package func thaw() { send(signal: SIGCONT) }

    // MARK: Observation

    /// Everything written to standard output so far, as text; bytes that are not UTF-8 are replaced.
    package var standardOutput: String { String(decoding: output.bytes.output, as: UTF8.self) }

    /// Everything written to standard error so far.
    package var standardError: String { String(decoding: output.bytes.errors, as: UTF8.self) }

    /// Memory, processor time and descriptors at this moment.
    ///
    /// - Throws: An error of the file system when it has ended.
    package func usage() throws -> ProcessUsage { try ProcessUsage(of: pid) }

    /// Waits until it is ready.
    ///
    /// - Parameters:
    ///   - limit: The deadline.
    ///   - condition: Whether it is ready; errors count as "not yet".
    /// - Throws: ``ProcessEnded`` as soon as it has ended instead, ``DeadlinePassed`` when it takes too long.
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

/// A process ended that should not have, or not in this way.
package struct ProcessEnded: Error, CustomStringConvertible {
    package let name: String
    package let status: ProcessEnd
    package let standardOutput: String
    package let standardError: String

    package var description: String {
        "\(name) ended: \(status)\n\(standardOutput.suffix(2000))\n\(standardError.suffix(4000))"
    }
}

/// Runs a program to its end.
///
/// - Returns: The ended process with its output.
/// - Throws: ``SpawnFailure``; ``DeadlinePassed`` after killing it.
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

/// Runs a program that must succeed.
///
/// - Returns: Its standard output.
/// - Throws: ``ProcessEnded`` when its status is not 0, and what ``run(_:_:environment:within:)`` throws.
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
