import FoundationEssentials
import Postgres
package import Vocabulary

/// How failed attempts slow down what they are counted for.
package struct AttemptRule: Sendable {
    /// The failure that is the first to have a consequence: a wait of one second, which doubles with each further one.
    package let firstSlowed: Int
    /// Seconds of the longest wait.
    package let longestWait: Int
    /// Attempts within the window; one more has to wait for its end.
    package let most: Int
    /// Seconds of the window, which the first attempt opens.
    package let window: Int
    /// Seconds after the last failure at which all are forgotten.
    package let memory: Int

    /// Seconds for which the failures of a login are remembered.
    static let accountMemory = 86_400

    /// For one login: nobody guesses more than this, from wherever.
    package static func account(_ lock: LoginLock) -> AttemptRule {
        AttemptRule(
            firstSlowed: 5,
            longestWait: 30,
            most: Int(clamping: lock.failures),
            window: Int(clamping: lock.seconds),
            memory: accountMemory
        )
    }
    /// For one source, behind which many people may be: as many as wait for their hashes at once count as failures
    /// until they are known to be none.
    package static let source = AttemptRule(firstSlowed: 300, longestWait: 30, most: 1000, window: 3600, memory: 3600)

    /// Guesses at one factor of a user, from wherever and within however many logins, and at the codes of one operator,
    /// by whichever token: whoever makes them knows what the person logs in by.
    package static let factor = AttemptRule(
        firstSlowed: 6,
        longestWait: 30,
        most: 20,
        window: 86_400,
        memory: accountMemory
    )
    /// Wrong recovery codes of one operator: nobody guesses 80 random bits, and the bound ends a thief's tries anyway.
    package static let recoveryCode = perHour(100)
    /// Guesses within one login that was put off, or at one factor that is to be enrolled; neither lives as long as an
    /// hour.
    package static let pendingSignIn = perHour(5)

    /// Messages to telephones: to one within a day, from one source within an hour, and of an application within a day,
    /// of which those that enrol a number are a fifth at most, or strangers would use up what people log in by.
    package static func messages(_ policy: SMSPolicy) -> MessageRules {
        MessageRules(
            number: perDay(Int(clamping: policy.mostPerNumber)),
            source: perHour(Int(clamping: policy.mostPerSource)),
            all: perDay(Int(clamping: policy.mostPerDay)),
            enrolments: perDay(Int(clamping: max(policy.mostPerDay / 5, 1)))
        )
    }

    package struct MessageRules: Sendable {
        package let number: AttemptRule
        package let source: AttemptRule
        package let all: AttemptRule
        package let enrolments: AttemptRule
    }

    /// Codes that enrol one telephone or one mailbox, whoever asks for them.
    package static let enrolmentsOfTarget = perDay(3)
    /// Codes that one user is sent to enrol something.
    package static let enrolmentsByUser = perDay(10)

    /// Mails of one kind to one mailbox: nobody's is filled.
    package static let mailsToMailbox = perHour(3)
    /// Mails with codes to one mailbox, whose owner logs in by them.
    package static let codesToMailbox = perHour(10)
    /// The same, from one source.
    package static let mailsFromSource = perHour(60)

    /// Accounts that are made.
    package static func registrations(most: Int64) -> AttemptRule { perHour(Int(clamping: most)) }

    private static func perDay(_ most: Int) -> AttemptRule {
        AttemptRule(firstSlowed: .max, longestWait: 0, most: most, window: 86_400, memory: 86_400)
    }

    /// Where nobody guesses anything, so that nothing slows down before the limit.
    private static func perHour(_ most: Int) -> AttemptRule {
        AttemptRule(firstSlowed: .max, longestWait: 0, most: most, window: 3600, memory: 3600)
    }
}

/// One of the things for which an attempt is counted.
package struct AttemptCount: Sendable {
    /// SHA-256 of what it is counted for.
    let key: [UInt8]
    let rule: AttemptRule

    package init(for key: [UInt8], by rule: AttemptRule) {
        self.key = key
        self.rule = rule
    }
}

/// That an attempt must not be made now.
package struct AttemptRefusal: Sendable {
    /// Which of the things that it was to be counted for stands in the way: its position.
    package let position: Int
    /// Seconds to wait.
    package let seconds: Int
}

/// For what a guess at a password is counted, each as SHA-256.
package struct AttemptKeys: Sendable {
    package let source: [UInt8]
    package let account: [UInt8]

    package init(source: [UInt8], account: [UInt8]) {
        self.source = source
        self.account = account
    }

    package func counts(by lock: LoginLock) -> [AttemptCount] {
        [AttemptCount(for: source, by: .source), AttemptCount(for: account, by: .account(lock))]
    }
}

extension Store {
    /// Counts an attempt as one that failed, before anything is known of it.
    ///
    /// So guesses that come at once are counted one after the other, on whatever instance. What is refused was no
    /// attempt, and is counted for nothing: a source that has to wait keeps nobody else from the account, and an
    /// account that has to wait does not use up what its sources have.
    ///
    /// - Parameters:
    ///   - counts: What it is counted for, none twice.
    ///   - application: Where.
    /// - Returns: Nil when the attempt may be made; else what stands in the way.
    /// - Throws: `store_unavailable` and its like.
    package func countAttempt(
        for counts: [AttemptCount],
        of application: Application
    ) async throws(Failure) -> AttemptRefusal? {
        let checks = Array(counts.dropFirst())
        let result = try await query(Self.counting(counts, unlessHeld: checks, in: application), of: application)
        guard let refusal = try read({ () throws(PostgresError) in try Self.refusal(in: result) }) else { return nil }
        let isChecked = refusal.position < checks.count
        let position = isChecked ? refusal.position + 1 : refusal.position - checks.count
        // Attempts that come at once are checked at once, and the last count alone tells them apart.
        if !isChecked, position > 0 {
            try await withdrawAttempt(for: Array(counts.prefix(position)), of: application)
        }
        return AttemptRefusal(position: position, seconds: refusal.seconds)
    }

    /// The statement that counts an attempt; `refusal` reads its result.
    ///
    /// - Parameters:
    ///   - counts: What it is counted for.
    ///   - checks: What must not have to wait, and is not counted; their positions are before those of the counts.
    ///   - application: Where.
    ///   - factor: A factor whose row comes along, behind the two columns that `refusal` reads.
    /// - Returns: The statement.
    static func counting(
        _ counts: [AttemptCount],
        unlessHeld checks: [AttemptCount] = [],
        in application: Application,
        reading factor: (user: ObjectID, id: ObjectID)? = nil
    ) -> Statement {
        counting(counts, unlessHeld: checks, inSchema: application.schema, reading: factor)
    }

    /// As `counting(_:unlessHeld:in:reading:)`, in a schema that has a table `attempts`.
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
                "when key = $\(position + 1) and recent >= \(rule.most) then counted_since + interval '\(rule.window) s'"
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

    /// Counts a guess at a factor of a user's, and reads the factor.
    ///
    /// - Parameters:
    ///   - factor: The factor.
    ///   - user: Whose it is.
    ///   - counts: What it is counted for.
    ///   - checks: What must not have to wait; a wrong guess is counted for that afterwards.
    ///   - application: Where.
    /// - Returns: The factor, nil when the user has no such one; or why nothing may be guessed.
    /// - Throws: `store_unavailable` and its like.
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
        return try read { () throws(PostgresError) in
            let refusal = try Self.refusal(in: result)
            guard refusal == nil, let row = result.first, try row.decode(2, as: UUID?.self) != nil else {
                return (refusal, nil)
            }
            return (nil, try StoredFactor(row, from: 2))
        }
    }

    static func refusal(in result: ResultSet) throws(PostgresError) -> AttemptRefusal? {
        guard let row = result.first, let position = try row.decode(0, as: Int?.self) else { return nil }
        // The row that stood in the way may be younger than the statement.
        return AttemptRefusal(position: position, seconds: max(try row.decode(1, as: Int?.self) ?? 1, 1))
    }

    /// Long ago: a moment of this statement would be in the future for one that began before and had to wait for the
    /// row.
    private static let noWait = "to_timestamp(0)"

    /// A row unless the key has to wait.
    private static func one(_ key: String, unlessHeldIn attempts: String, by rule: AttemptRule) -> String {
        """
        select true from (\(key)) one (key)
        where not exists (
            select from \(attempts) a
            where a.key = one.key and (
                a.blocked_until > now()
                or a.recent >= \(rule.most) and a.counted_since > now() - interval '\(rule.window) s'
            )
        )
        """
    }

    /// One more for the key, unless it has to wait; then nothing comes back.
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
            where a.blocked_until <= now() and (a.recent < \(rule.most) or \(isOver))
            returning true
            """
    }

    /// Takes an attempt back that was no failure: the account starts anew, the source has one less.
    ///
    /// A wait that the source has to keep stays, else own successes would buy guesses at others (T-82).
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

    /// Takes an attempt back that was never made, from one thing after the other as it was counted.
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
