import Glibc
import NIOConcurrencyHelpers

/// Collects the standard output and the standard error of a child process.
///
/// A thread of its own reads them, so that the process never blocks on a full pipe.
final class ProcessOutput: Sendable {
    private struct State {
        var collected: [[UInt8]] = [[], []]
        var isComplete = false
        var hasEnded = false
        var isDrained = false
    }

    private let state = NIOLockedValueBox(State())

    /// The standard output and standard error so far.
    var bytes: (output: [UInt8], errors: [UInt8]) {
        state.withLockedValue { ($0.collected[0], $0.collected[1]) }
    }

    /// Whether all output of the child process has been read.
    ///
    /// The pipes may still be open, since a child of that process may have inherited them.
    var isDrained: Bool { state.withLockedValue { $0.isComplete || $0.isDrained } }

    /// Records that the child process has ended, so that it writes no further output to the pipes.
    func processHasEnded() { state.withLockedValue { $0.hasEnded = true } }

    /// Starts a thread that reads both pipes to their end and closes them.
    ///
    /// - Parameters:
    ///   - output: The descriptor of the pipe for standard output.
    ///   - errors: The descriptor of the pipe for standard error.
    func collect(output: Int32, errors: Int32) {
        startThread { [self] in
            var polled = [output, errors].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            while polled.contains(where: { $0.fd >= 0 }) {
                // The flag is read before polling. If it is set, all output is in the pipes already.
                let hasEnded = state.withLockedValue { $0.hasEnded }
                let ready = poll(&polled, 2, 200)
                if ready == 0, hasEnded { state.withLockedValue { $0.isDrained = true } }
                guard ready > 0 else { continue }
                for index in polled.indices where polled[index].fd >= 0 && polled[index].revents != 0 {
                    let count = read(polled[index].fd, &chunk, chunk.count)
                    if count > 0 {
                        state.withLockedValue { $0.collected[index] += chunk[..<count] }
                    } else if count == 0 || errno != EINTR {
                        close(polled[index].fd)
                        polled[index].fd = -1
                    }
                }
            }
            state.withLockedValue { $0.isComplete = true }
        }
    }
}

/// Runs a closure on a new thread.
///
/// This is for calls that block for long.
func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    let context = Unmanaged.passRetained(Body(body))
    var thread = pthread_t()
    let status = pthread_create(
        &thread,
        nil,
        { context in
            guard let context else { return nil }
            Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            return nil
        },
        context.toOpaque()
    )
    precondition(status == 0, "no thread to be had")
    pthread_detach(thread)
}
