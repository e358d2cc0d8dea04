internal import NIOConcurrencyHelpers

/// What a stream of notifications tells its reader.
package enum PostgresNotification: Sendable, Hashable {
    /// The session listens from this moment on, for the first time or again: whatever was sent before may have been
    /// missed.
    case listening
    /// Somebody has sent this, and it was committed.
    case received(payload: String)
}

extension PostgresClient {
    /// What others send to a channel by `NOTIFY`, as long as somebody reads.
    ///
    /// Every stream has a connection of its own beside those for statements and leases: it is opened when the stream is
    /// first read, and closed when the reading task is cancelled, when the stream is dropped, or when the client shuts
    /// down; the stream has ended then. A connection that breaks is replaced as all others are, and
    /// ``PostgresNotification/listening`` says so. `LISTEN` is repeated after each
    /// ``PostgresConfiguration/listenPause`` (10 s), and the connection given up when no answer comes within
    /// ``PostgresConfiguration/listenTimeout`` (5 s): so nobody waits for more than 15 s on one that is dead. A server
    /// that refuses is asked again after the same pause.
    ///
    /// A slow reader loses nothing unnoticed: when more than 256 notifications wait, all of them become one
    /// ``PostgresNotification/listening``.
    ///
    /// Behind a pooler in transaction mode nothing is ever received, since the session that listens is not ours.
    ///
    /// - Parameter channel: The channel's name, of at most 63 bytes, taken as it is: upper case stays upper case.
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

/// The reading end of a stream: subscribes when it is first asked, and ends the subscription with itself.
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
