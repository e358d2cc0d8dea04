internal import NIOConcurrencyHelpers

/// The state of one stream of notifications, which the event loop and the stream's reader share.
final class Subscription: Sendable {
    private struct State: Sendable {
        var queue = NotificationQueue()
        /// The readers that wait because the queue is empty: at most one, unless several tasks read the same stream.
        var readers = FIFO<Continuation<PostgresNotification?>>()
        var isEnded = false
    }

    let channel: String
    private let state = NIOLockedValueBox(State())

    init(channel: String) {
        self.channel = channel
    }

    /// Whether the subscription has ended.
    ///
    /// No reader waits after the end.
    var isEnded: Bool { state.withLockedValue(\.isEnded) }

    /// Passes a notification to the reader that waits for one, or queues it until the next read.
    func put(_ notification: PostgresNotification) {
        let reader: Continuation<PostgresNotification?>? = state.withLockedValue { state in
            guard !state.isEnded else { return nil }
            if let reader = state.readers.popFirst() { return reader }
            state.queue.append(notification)
            return nil
        }
        reader?.resume(returning: notification)
    }

    /// Ends the subscription and drops notifications that have not been read.
    func end() {
        let readers = state.withLockedValue { state in
            state.isEnded = true
            state.queue = NotificationQueue()
            return state.readers.removeAll()
        }
        for reader in readers { reader.resume(returning: nil) }
    }

    /// Returns the next notification; nil when the subscription has ended.
    func next() async -> PostgresNotification? {
        await suspend { reader in
            let answer: PostgresNotification?? = state.withLockedValue { state in
                if state.isEnded { return .some(nil) }
                if let notification = state.queue.popFirst() { return notification }
                state.readers.append(reader)
                return nil
            }
            if let answer { reader.resume(returning: answer) }
        }
    }
}

/// The queue of a stream's notifications that no task has read yet.
///
/// The notification ``listening`` means that earlier notifications may have been missed. So the reader of the stream
/// must load the current data anew, and needs no earlier notification. Therefore ``listening`` replaces the whole
/// queue. If the queue is full, one ``listening`` replaces it, too.
struct NotificationQueue: Sendable {
    /// The maximum number of notifications in the queue.
    static let capacity = 256

    private var notifications = FIFO<PostgresNotification>()

    mutating func append(_ notification: PostgresNotification) {
        if notification == .listening {
            _ = notifications.removeAll()
        } else if notifications.count >= Self.capacity {
            append(.listening)
        }
        notifications.append(notification)
    }

    mutating func popFirst() -> PostgresNotification? {
        notifications.popFirst()
    }
}
