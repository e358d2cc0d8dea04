package import Domain
import FoundationEssentials
import Postgres

/// A rate limit and lockout for attempts that are counted together, such as those for one login name or from one
/// source.
package struct AttemptRule: Sendable {
    /// The number of failures after which the next attempt must wait.
    ///
    /// The wait is one second, and doubles with each further failure.
    package let firstSlowed: Int
    /// The longest wait, in seconds.
    package let longestWait: Int
    /// The maximum number of attempts within a time window; a further attempt must wait for the end of the window.
    package let max: Int
    /// The length, in seconds, of the time window in which attempts are counted; the first attempt opens the window.
    package let window: Int
    /// The number of seconds without a failure after which all earlier failures stop counting.
    package let memory: Int

    /// The value of `memory` for attempts at one login name, or at one factor: a day.
    static let accountMemory = 86_400

    /// The limit for one login name, whatever the sources of the attempts.
    package static func account(_ lockout: Lockout) -> AttemptRule {
        AttemptRule(
            firstSlowed: 5,
            longestWait: 30,
            max: Int(clamping: lockout.failures),
            window: Int(clamping: lockout.seconds),
            memory: accountMemory
        )
    }
    /// The limit for one source, which many users may share.
    ///
    /// The limit is high, since each login counts as a failure until its password hash is verified: all concurrent
    /// logins of the source count.
    package static let source = AttemptRule(firstSlowed: 300, longestWait: 30, max: 1000, window: 3600, memory: 3600)

    /// The limit for guesses at one factor of a user, or at the codes of one operator.
    ///
    /// The limit applies across sources, pending logins and tokens, since an attacker who guesses already has the first
    /// factor.
    package static let factor = AttemptRule(
        firstSlowed: 6,
        longestWait: 30,
        max: 20,
        window: 86_400,
        memory: accountMemory
    )
    /// The limit for guesses at the recovery codes of one operator.
    ///
    /// It is high, since a code of 80 random bits cannot be guessed. It only stops a thief's endless attempts.
    package static let recoveryCode = perHour(100)
    /// The limit for guesses within one pending login, or at one factor being enrolled; neither lives for an hour.
    package static let pendingLogin = perHour(5)

    /// Returns the limits for text messages: per telephone number and day, per source and hour, per application and
    /// day.
    ///
    /// Messages that enrol a telephone number are limited to a fifth of the application's messages. Otherwise strangers
    /// could use up the messages that users need to log in.
    package static func messages(_ policy: SMSPolicy) -> MessageRules {
        MessageRules(
            number: perDay(Int(clamping: policy.maxPerNumberPerDay)),
            source: perHour(Int(clamping: policy.maxPerSourcePerHour)),
            all: perDay(Int(clamping: policy.maxPerDay)),
            enrolments: perDay(Int(clamping: Swift.max(policy.maxPerDay / 5, 1)))
        )
    }

    package struct MessageRules: Sendable {
        package let number: AttemptRule
        package let source: AttemptRule
        package let all: AttemptRule
        package let enrolments: AttemptRule
    }

    /// The limit for codes that enrol one telephone number or mailbox, for all users together.
    package static let enrolmentsOfTarget = perDay(3)
    /// The limit for enrolment codes sent to one user.
    package static let enrolmentsByUser = perDay(10)

    /// The limit for mails of one kind to one mailbox, so that nobody can flood it.
    package static let mailsToMailbox = perHour(3)
    /// The limit for mails with login codes to one mailbox.
    package static let codesToMailbox = perHour(10)
    /// The limit for mails with login codes from one source.
    package static let mailsFromSource = perHour(60)

    /// Returns the limit for registrations: at most `max` an hour.
    package static func registrations(max: Int64) -> AttemptRule { perHour(Int(clamping: max)) }

    private static func perDay(_ max: Int) -> AttemptRule {
        AttemptRule(firstSlowed: .max, longestWait: 0, max: max, window: 86_400, memory: 86_400)
    }

    /// Returns a limit of `max` attempts an hour.
    ///
    /// No attempt has to wait before the limit is reached.
    private static func perHour(_ max: Int) -> AttemptRule {
        AttemptRule(firstSlowed: .max, longestWait: 0, max: max, window: 3600, memory: 3600)
    }
}

/// A counter of attempts, named by a hash, with the limit that applies to the attempts.
package struct AttemptCount: Sendable {
    /// SHA-256 of the source, account or other subject that attempts are counted for.
    let key: [UInt8]
    let rule: AttemptRule

    package init(for key: [UInt8], by rule: AttemptRule) {
        self.key = key
        self.rule = rule
    }
}

/// The refusal of an attempt that exceeds a limit.
package struct AttemptRefusal: Sendable {
    /// The index, in the list of the attempt's counters, of the counter whose limit was exceeded.
    package let position: Int
    /// The seconds until a further attempt is allowed.
    package let seconds: Int
}

extension AttemptRefusal {
    /// Reads the refusal from two columns of a row; nil if the attempt is allowed.
    init?(_ row: inout Row) throws(PostgresError) {
        let (position, seconds) = (try row.next(Int?.self), try row.next(Int?.self))
        guard let position else { return nil }
        // The row that caused the refusal may be younger than the statement's snapshot.
        self.init(position: position, seconds: Swift.max(seconds ?? 1, 1))
    }
}

/// The SHA-256 hashes that name the two counters of a password guess: that of the source and that of the account.
package struct AttemptKeys: Sendable {
    package let source: [UInt8]
    package let account: [UInt8]

    package init(source: [UInt8], account: [UInt8]) {
        self.source = source
        self.account = account
    }

    package func counts(by lockout: Lockout) -> [AttemptCount] {
        [AttemptCount(for: source, by: .source), AttemptCount(for: account, by: .account(lockout))]
    }
}

extension Store {
    /// Counts an attempt as a failure before its outcome is known.
    ///
    /// Concurrent guesses are thus counted one after the other, across all instances. A refused attempt is not counted.
    /// So a source that must wait does not lock others out of the account, and an account that must wait does not use
    /// up the limits of its sources.
    ///
    /// - Parameters:
    ///   - counts: The counters that count the attempt, without duplicate keys.
    ///   - application: The application of the attempt.
    /// - Returns: Nil when the attempt is allowed; otherwise the refusal.
    /// - Throws: `store_unavailable` and similar failures.
    package func countAttempt(
        for counts: [AttemptCount],
        of application: Application
    ) async throws(Failure) -> AttemptRefusal? {
        let checks = Array(counts.dropFirst())
        let result = try await query(Self.counting(counts, unlessHeld: checks, in: application), of: application)
        guard let refusal = try result.first(by: AttemptRefusal.init) else { return nil }
        let isChecked = refusal.position < checks.count
        let position = isChecked ? refusal.position + 1 : refusal.position - checks.count
        // Concurrent attempts may all pass the checks. Then only the counting refuses the surplus attempts, and their
        // earlier counts are undone here.
        if !isChecked, position > 0 {
            try await withdrawAttempt(for: Array(counts.prefix(position)), of: application)
        }
        return AttemptRefusal(position: position, seconds: refusal.seconds)
    }

    /// Returns the statement that counts an attempt; `AttemptRefusal` reads its row.
    ///
    /// - Parameters:
    ///   - counts: The counters that count the attempt.
    ///   - checks: Counters whose limits are checked, but which do not count the attempt. Their positions come before
    ///     the positions of `counts`.
    ///   - application: The application of the attempt.
    ///   - factor: A factor whose columns the row also has, after the two columns of the refusal.
    /// - Returns: The statement.
    static func counting(
        _ counts: [AttemptCount],
        unlessHeld checks: [AttemptCount] = [],
        in application: Application,
        reading factor: (user: ObjectID, id: ObjectID)? = nil
    ) -> Statement {
        counting(counts, unlessHeld: checks, inSchema: application.schema, reading: factor)
    }

    /// Returns the statement that counts an attempt in the table `attempts` of a schema.
    ///
    /// The schema is an application's, or the service's own. `counting(_:unlessHeld:in:reading:)` explains the other
    /// parameters.
    static func counting(
        _ counts: [AttemptCount],
        unlessHeld checks: [AttemptCount] = [],
        inSchema schema: String,
        reading factor: (user: ObjectID, id: ObjectID)? = nil
    ) -> Statement {
        let attempts = "\(quoted(schema)).attempts"
        let all = checks + counts
        let steps = all.enumerated().map { position, count in
            let before = position == 0 ? "" : " from step\(position - 1)"
            let key = "select $\(position + 1)::bytea\(before)"
            let step =
                position < checks.count
                ? one(key, unlessHeldIn: attempts, by: count.rule) : one(key, in: attempts, by: count.rule)
            return "step\(position) as (\(step))"
        }
        let refused = all.indices.map { "when not exists (select from step\($0)) then \($0)" }
        let ends = all.enumerated().map { position, count in
            let rule = count.rule
            return
                "when key = $\(position + 1) and recent >= \(rule.max) then counted_since + interval '\(rule.window) s'"
        }
        let keys = all.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        let (columns, join, binds) =
            factor.map { factor -> (String, String, [Bind]) in
                (
                    ", " + StoredFactor.columns,
                    """
                    from (select) one left join \(quoted(schema)).factors f
                        on f.object_id = $\(all.count + 1) and f.id = $\(all.count + 2) and f.removed is null
                    """,
                    [.uuid(factor.user.uuid), .uuid(factor.id.uuid)]
                )
            } ?? ("", "", [])
        return Statement(
            sql: """
                with \(steps.joined(separator: ", "))
                select (case \(refused.joined(separator: " ")) end)::bigint, (
                    case when not exists (select from step\(all.count - 1)) then (
                        select max(ceil(extract(epoch from greatest(blocked_until, case
                            \(ends.joined(separator: " "))
                            end) - now()))) from \(attempts) where key in (\(keys))
                    ) end
                )::bigint\(columns)
                \(join)
                """,
            binds: all.map { .bytes($0.key) } + binds
        )
    }

    /// Counts a guess at a factor of a user, and reads the factor.
    ///
    /// - Parameters:
    ///   - factor: The id of the factor.
    ///   - user: The user of the factor.
    ///   - counts: The counters that count the guess.
    ///   - checks: Counters whose limits are only checked here. The caller counts a wrong guess for these limits
    ///     afterwards.
    ///   - application: The application of the user.
    /// - Returns: The refusal if the guess is not allowed; otherwise the factor, nil when the user has no such factor.
    /// - Throws: `store_unavailable` and similar failures.
    package func countGuess(
        at factor: ObjectID,
        of user: ObjectID,
        for counts: [AttemptCount],
        unlessHeld checks: [AttemptCount],
        in application: Application
    ) async throws(Failure) -> (refusal: AttemptRefusal?, factor: StoredFactor?) {
        let result = try await query(
            Self.counting(counts, unlessHeld: checks, in: application, reading: (user, factor)),
            of: application
        )
        return try result.first { row throws(PostgresError) in
            let (refusal, factor) = (try AttemptRefusal(&row), try StoredFactor(&row))
            return (refusal, refusal == nil ? factor : nil)
        } ?? (nil, nil)
    }

    /// The SQL of a time long ago, which is stored as the end of the wait if the next attempt need not wait.
    ///
    /// `now()` would not do: for a statement that began earlier and waited for the row's lock, it is in the future.
    private static let noWait = "to_timestamp(0)"

    /// Returns the SQL that checks a limit without counting: it yields a row unless attempts for the key must wait.
    private static func one(_ key: String, unlessHeldIn attempts: String, by rule: AttemptRule) -> String {
        """
        select true from (\(key)) one (key)
        where not exists (
            select from \(attempts) a
            where a.key = one.key and (
                a.blocked_until > now()
                or a.recent >= \(rule.max) and a.counted_since > now() - interval '\(rule.window) s'
            )
        )
        """
    }

    /// Returns the SQL that counts an attempt for the key.
    ///
    /// If attempts for the key must wait, the SQL counts nothing and yields no row.
    private static func one(_ key: String, in attempts: String, by rule: AttemptRule) -> String {
        let isForgotten = "a.last <= now() - interval '\(rule.memory) s'"
        let isOver = "a.counted_since <= now() - interval '\(rule.window) s'"
        let failures = "case when \(isForgotten) then 1 else a.failures + 1 end"
        let exponent = "least(\(failures) - \(rule.firstSlowed), 20)"
        return """
            insert into \(attempts) as a (key, failures, recent, blocked_until)
            select key, 1, 1, \(Self.noWait) from (\(key)) one (key)
            on conflict (key) do update set
                failures = \(failures), last = now(),
                counted_since = case when \(isOver) then now() else a.counted_since end,
                recent = case when \(isOver) then 1 else a.recent + 1 end,
                blocked_until = case when \(failures) < \(rule.firstSlowed) then \(Self.noWait)
                    else now() + make_interval(secs => least(\(rule.longestWait), power(2, \(exponent)))) end
            where a.blocked_until <= now() and (a.recent < \(rule.max) or \(isOver))
            returning true
            """
    }

    /// Undoes the count of an attempt that succeeded.
    ///
    /// The account's failures are deleted, and the source has one failure less.
    ///
    /// If the source has to wait before its next attempt, it still has to. Otherwise an attacker could gain guesses at
    /// other accounts by successful logins to an account of their own (T-82).
    package func forgiveAttempt(_ keys: AttemptKeys, of application: Application) async throws(Failure) {
        let attempts = "\(quoted(application.schema)).attempts"
        _ = try await query(
            Statement(
                sql: """
                    with source as (\(Self.oneLess(of: attempts)) where key = $1 returning key)
                    delete from \(attempts) a using (select count(*) from source) one where a.key = $2
                    """,
                binds: [.bytes(keys.source), .bytes(keys.account)]
            ),
            of: application
        )
    }

    /// Undoes the counts of an attempt that was not made after all, key by key in the order of counting.
    package func withdrawAttempt(for counts: [AttemptCount], of application: Application) async throws(Failure) {
        let attempts = "\(quoted(application.schema)).attempts"
        let steps = counts.indices.map { position in
            let before = position == 0 ? "" : " from (select count(*) from step\(position - 1)) one"
            return
                "step\(position) as (\(Self.oneLess(of: attempts))\(before) where a.key = $\(position + 1) returning a.key)"
        }
        _ = try await query(
            Statement(
                sql: "with \(steps.joined(separator: ", ")) select count(*) from step\(counts.count - 1)",
                binds: counts.map { .bytes($0.key) }
            ),
            of: application
        )
    }

    private static func oneLess(of attempts: String) -> String {
        "update \(attempts) a set failures = greatest(failures - 1, 0), recent = greatest(recent - 1, 0)"
    }
}
