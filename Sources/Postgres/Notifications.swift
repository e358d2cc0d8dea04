internal import NIOConcurrencyHelpers

/// An element of a stream of notifications.
package enum PostgresNotification: Sendable, Hashable {
    /// The session begins to listen, for the first time or again. Earlier notifications may have been missed.
    case listening
    /// A notification arrived. The transaction that sent it has been committed.
    case received(payload: String)
}

extension PostgresClient {
    /// Returns a stream of the notifications that are sent to a channel by `NOTIFY`.
    ///
    /// Every stream has a connection of its own, beside those for statements and leases. The connection is opened when
    /// the stream is first read. The stream ends, and its connection is closed, when the reading task is cancelled, the
    /// stream is dropped or the client shuts down. A broken connection is replaced. After that the stream returns
    /// ``PostgresNotification/listening`` again.
    ///
    /// `LISTEN` is repeated after each ``PostgresConfiguration/listenPause`` (10 s). The connection is closed when no
    /// response comes within ``PostgresConfiguration/listenTimeout`` (5 s), so a reader waits at most 15 s on a dead
    /// connection. After a refusal by the server, `LISTEN` is retried after the same pause.
    ///
    /// When more than 256 notifications wait for a slow reader, one ``PostgresNotification/listening`` replaces them
    /// all. So the reader always learns of a loss.
    ///
    /// Behind a pooler in transaction mode the stream receives nothing, since the pooler's own session listens.
    ///
    /// - Parameter channel: The channel's name, of at most 63 bytes, taken unchanged: upper case stays upper case.
    /// - Returns: A stream that begins with ``PostgresNotification/listening``; it can be read once.
    package func notifications(on channel: String) -> AsyncStream<PostgresNotification> {
        let reader = NotificationReader(pool, channel: channel)
        return AsyncStream {
            await reader.next()
        } onCancel: {
            reader.end()
        }
    }
}

/// The reader of a stream: subscribes at the first read, and unsubscribes when the stream ends.
private final class NotificationReader: Sendable {
    private let pool: ConnectionPool
    private let subscription: Subscription
    private let isSubscribed = NIOLockedValueBox(false)

    init(_ pool: ConnectionPool, channel: String) {
        self.pool = pool
        subscription = Subscription(channel: channel)
    }

    func next() async -> PostgresNotification? {
        let isFirst = isSubscribed.withLockedValue { isSubscribed in
            defer { isSubscribed = true }
            return !isSubscribed
        }
        if isFirst { pool.post(.listen(subscription)) }
        return await subscription.next()
    }

    func end() {
        subscription.end()
        pool.post(.unlisten(subscription))
    }

    deinit {
        end()
    }
}
