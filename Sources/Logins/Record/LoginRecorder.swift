package import Domain
package import Logging
import Metrics
import NIOConcurrencyHelpers
package import Store

/// Writes the log of logins, which operators read, to the database.
///
/// A login hands its outcome to the recorder and does not wait. The recorder writes in the background. While the
/// database accepts no rows, the rows wait in a bounded buffer.
package final class LoginRecorder: Sendable {
    private let store: Store
    private let clock: WallClock
    private let logger: Logger
    private let buffer: NIOLockedValueBox<LoginBuffer>
    private let written = Counter(label: "federation_login_log_total", dimensions: [("result", "written")])
    private let unlisted = Counter(label: "federation_login_log_total", dimensions: [("result", "unlisted")])
    private let uncounted = Counter(label: "federation_login_log_total", dimensions: [("result", "uncounted")])

    /// The interval between two writes to the database.
    private static let interval = Duration.seconds(1)
    /// The maximum number of rows in one write.
    private static let maxInBatch = 500

    /// - Parameters:
    ///   - store: The database, over connections that no login waits for.
    ///   - rowsPerSecond: The maximum number of rows of refused logins per second.
    ///   - clock: The time of day.
    ///   - logger: Gets one warning when the database refuses rows. The next warning comes only after the database has
    ///     accepted rows again.
    package init(store: Store, rowsPerSecond: Int, clock: WallClock, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
        buffer = NIOLockedValueBox(LoginBuffer(maxPerTurn: rowsPerSecond))
    }

    /// Adds the outcome of a login to the buffer of logins to write.
    @Sendable
    package func hear(_ login: LoginOutcome) {
        let record = LoginRecord(login, at: clock.milliseconds)
        buffer.withLockedValue { $0.add(record) }
    }

    /// Writes the buffered logins every second until the task is cancelled, and then once more.
    package func run() async {
        var isTaken = true
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)
            if !Task.isCancelled { await write(&isTaken) }
        }
        // The last write runs in a separate task, since this task is cancelled.
        await Task { [self] in
            var isTaken = isTaken
            await write(&isTaken)
        }.value
    }

    private func write(_ isTaken: inout Bool) async {
        uncounted.increment(by: buffer.withLockedValue { $0.endTurn() })
        while case let batch = buffer.withLockedValue({ $0.take(max: Self.maxInBatch) }), !batch.isEmpty {
            do throws(Failure) {
                try await store.writeLogins(batch.records, counts: batch.counts)
                isTaken = true
                written.increment(by: batch.records.count)
                unlisted.increment(by: batch.counts.values.reduce(0) { $0 + $1.unlisted })
            } catch {
                if isTaken {
                    logger.warning(
                        "logins could not be written down",
                        metadata: ["cause": "\(error.cause ?? error.message)"]
                    )
                }
                isTaken = false
                buffer.withLockedValue { buffer in
                    // If the batch itself causes the error, it is dropped. Otherwise, it would block all later batches.
                    if error.reason == .storeUnavailable || error.reason == .overloaded {
                        buffer.putBack(batch)
                    } else {
                        buffer.leave(batch)
                    }
                }
                return
            }
        }
    }
}

extension LoginRecord {
    fileprivate init(_ login: LoginOutcome, at moment: Int64) {
        let (method, provider): (Method, ProviderName?) =
            switch login.method {
            case .provider(let name): (.provider, name)
            case .unknownProvider: (.provider, nil)
            case .password: (.password, nil)
            case .guest: (.guest, nil)
            case .server: (.server, nil)
            case .passkey: (.passkey, nil)
            }
        let (outcome, user, failure): (Outcome, ObjectID?, Failure?) =
            switch login.result {
            case .created(let user): (.created, user, nil)
            case .updated(let user): (.updated, user, nil)
            case .refused(let failure): (.refused, nil, failure)
            }
        self.init(
            application: login.application,
            happened: moment,
            method: method,
            provider: provider,
            credential: login.credential.rawValue,
            outcome: outcome,
            reason: failure?.reason,
            cause: failure?.cause.map { Self.kept($0, max: 500) },
            user: user,
            request: login.request.map { Self.kept($0, max: 100) },
            source: login.source.map { Self.kept($0, max: 100) },
            userAgent: login.userAgent.map { Self.kept($0, max: 200) },
            session: login.session,
            milliseconds: Int64(login.duration / .milliseconds(1))
        )
    }

    /// Shortens a text and replaces NUL, which PostgreSQL does not accept.
    ///
    /// So the row is small even if an attacker chose the text.
    private static func kept(_ text: String, max: Int) -> String {
        guard text.utf8.count > max || text.utf8.contains(0) else { return text }
        var bytes = text.utf8.prefix(max)
        // The cut never splits a UTF-8 character.
        while bytes.endIndex < text.utf8.endIndex, text.utf8[bytes.endIndex] & 0xC0 == 0x80 { bytes.removeLast() }
        return String(decoding: bytes.map { $0 == 0 ? UInt8(ascii: "?") : $0 }, as: UTF8.self)
    }
}
