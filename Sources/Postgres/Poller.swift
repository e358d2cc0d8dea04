internal import CLibPQ
internal import Glibc

/// An epoll instance.
final class Poller: Sendable {
    /// A ready descriptor: readable, writable, or closed by its peer.
    struct Event {
        /// The number under which the descriptor was registered with epoll.
        let tag: UInt64
        let isReadable: Bool
        let isWritable: Bool
    }

    private let descriptor: Int32

    init() {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        // Can happen only at the start of the process, which cannot continue without the descriptor.
        precondition(descriptor >= 0, "no file descriptor for the loop of the PostgreSQL driver: error \(errno)")
    }

    deinit {
        close(descriptor)
    }

    /// Watches `socket` for being readable or writable.
    ///
    /// Returns false if the system refuses.
    func add(_ socket: Int32, tag: UInt64, reading: Bool, writing: Bool) -> Bool {
        control(EPOLL_CTL_ADD, socket, tag, reading, writing)
    }

    func change(_ socket: Int32, tag: UInt64, reading: Bool, writing: Bool) -> Bool {
        control(EPOLL_CTL_MOD, socket, tag, reading, writing)
    }

    func remove(_ socket: Int32) {
        // Kernels before 2.6.9 required an event here; the kernels in use ignore it.
        var event = epoll_event()
        epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, &event)
    }

    private func control(_ operation: Int32, _ socket: Int32, _ tag: UInt64, _ reading: Bool, _ writing: Bool) -> Bool {
        var event = epoll_event()
        event.events = (reading ? epoll_readable : 0) | (writing ? epoll_writable : 0)
        event.data.u64 = tag
        return epoll_ctl(descriptor, operation, socket, &event) == 0
    }

    /// Waits for at most `milliseconds` (-1: no limit) and appends the ready descriptors to `events`.
    func wait(milliseconds: Int32, into events: inout [Event]) {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 32) { buffer in
            let count = epoll_wait(descriptor, buffer.baseAddress, Int32(buffer.count), milliseconds)
            // When the call was interrupted, nothing is ready.
            guard count > 0 else { return }
            for event in buffer.prefix(Int(count)) {
                let isWritable = event.events & epoll_writable != 0
                events.append(
                    Event(
                        tag: event.data.u64,
                        // An error or a hang-up shows when the socket is read.
                        isReadable: event.events & ~epoll_writable != 0,
                        isWritable: isWritable
                    )
                )
            }
        }
    }
}
