internal import NIOConcurrencyHelpers

/// What the loop and the reader of one stream of notifications share.
final class Subscription: Sendable {
    private struct State: Sendable {
        var queue = NotificationQueue()
        /// Those who wait because the queue is empty; one, unless several tasks read the same stream.
        var readers = FIFO<Continuation<PostgresNotification?>>()
        var isEnded = false
    }

    let channel: String
    private let state = NIOLockedValueBox(State())

    init(channel: String) {
        self.channel = channel
    }

    /// Whether nobody reads any more, or will.
    var isEnded: Bool { state.withLockedValue(\.isEnded) }

    /// Hands the notification to the one who waits, or keeps it for the next one who asks.
    func put(_ notification: PostgresNotification) {
        let reader: Continuation<PostgresNotification?>? = state.withLockedValue { state in
            guard !state.isEnded else { return nil }
            if let reader = state.readers.popFirst() { return reader }
            state.queue.append(notification)
            return nil
        }
        reader?.resume(returning: notification)
    }

    /// From now on there is nothing; what has not been taken is gone.
    func end() {
        let readers = state.withLockedValue { state in
            state.isEnded = true
            state.queue = NotificationQueue()
            return state.readers.removeAll()
        }
        for reader in readers { reader.resume(returning: nil) }
    }

    /// The next notification; nil when the subscription has ended.
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

/// What the reader of a stream has not taken yet.
///
/// Whoever is told that notifications may have been missed has to look for himself: so the word that says it takes the
/// place of all that wait before it, and of all that are too many.
struct NotificationQueue: Sendable {
    /// The most that wait.
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
