import Dispatch
import Glibc
import NIOConcurrencyHelpers

/// A file descriptor to which whole lines are written in the background.
///
/// ``write(_:)`` only adds a line to a buffer. A dispatch queue collects lines for a few milliseconds and writes them
/// with one call. So requests do not wait if the reader of the output has stopped reading. Lines beyond the capacity of
/// the buffer are dropped. When there is room again, a line states how many were dropped.
package final class LineOutput: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        var dropped = 0
        var droppedInAll = 0
        var isScheduled = false
    }

    private let descriptor: Int32
    /// The maximum number of bytes in the buffer.
    private let capacity: Int
    private let state = NIOLockedValueBox(State())
    private let queue = DispatchQueue(label: "log")

    private static let gathering = DispatchTimeInterval.milliseconds(20)
    /// The maximum time for which the end of the process is delayed until the buffered lines are written.
    private static let timeout = DispatchTimeInterval.seconds(2)

    /// Standard output, with a buffer for some thousand lines.
    package static let standard = LineOutput(descriptor: STDOUT_FILENO, capacity: 1_048_576)

    package init(descriptor: Int32, capacity: Int) {
        self.descriptor = descriptor
        self.capacity = capacity
    }

    /// The number of dropped lines since the start.
    package var dropped: Int { state.withLockedValue { $0.droppedInAll } }

    /// Buffers a line that ends with a line break.
    func write(_ line: [UInt8]) {
        let mustSchedule = state.withLockedValue { state in
            if state.waiting.count + line.count <= capacity {
                state.waiting.append(contentsOf: line)
            } else {
                state.dropped += 1
                state.droppedInAll += 1
            }
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { queue.asyncAfter(deadline: .now() + Self.gathering) { self.drain() } }
    }

    /// Waits until all buffered lines are written, at most two seconds.
    ///
    /// A reader that has stopped reading must not keep the process from ending.
    package func flush() {
        let written = DispatchSemaphore(value: 0)
        queue.async {
            self.drain()
            written.signal()
        }
        _ = written.wait(timeout: .now() + Self.timeout)
    }

    private func drain() {
        let (lines, dropped) = state.withLockedValue { state in
            defer {
                state.waiting.removeAll(keepingCapacity: state.waiting.capacity <= 65_536)
                state.dropped = 0
                state.isScheduled = false
            }
            return (state.waiting, state.dropped)
        }
        writeAll(lines)
        guard dropped > 0 else { return }
        writeAll(
            Array(#"{"level":"warning","message":"log lines dropped","lines":\#(dropped)}"#.utf8) + [UInt8(ascii: "\n")]
        )
    }

    private func writeAll(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if written < 0 && errno == EINTR { continue }
                guard written > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
            }
        }
    }
}
