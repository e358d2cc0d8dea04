package import Identity
import Postgres

/// How failed attempts slow down what they are counted for.
package struct AttemptRule: Sendable {
    /// The failure that is the first to have a consequence: a wait of one second, which doubles with each further one.
    package let firstSlowed: Int
    /// Seconds of the longest wait.
    package let longestWait: Int
    /// Attempts within an hour; one more has to wait for the hour's end.
    package let mostInAnHour: Int
    /// Seconds after the last failure at which all are forgotten.
    package let memory: Int

    /// For one login: nobody guesses more than this, from wherever.
    package static let account = AttemptRule(firstSlowed: 5, longestWait: 30, mostInAnHour: 100, memory: 86_400)
    /// For one source, behind which many people may be: as many as wait for their hashes at once count as failures until they are known to
    /// be none.
    package static let source = AttemptRule(firstSlowed: 300, longestWait: 30, mostInAnHour: 1000, memory: 3600)

    /// Mails to one login that anybody may ask for: nobody's mailbox is filled.
    static let mailsToAccount = AttemptRule(firstSlowed: .max, longestWait: 0, mostInAnHour: 3, memory: 3600)
    /// The same, from one source.
    static let mailsFromSource = AttemptRule(firstSlowed: .max, longestWait: 0, mostInAnHour: 60, memory: 3600)
}

/// What is attempted.
package enum AttemptKind: Sendable {
    /// To guess a password.
    case guess
    /// To have a mail sent to the owner of a login.
    case mail

    fileprivate var rules: (source: AttemptRule, account: AttemptRule) {
        switch self {
        case .guess: (.source, .account)
        case .mail: (.mailsFromSource, .mailsToAccount)
        }
    }
}

/// For what one attempt is counted, each as SHA-256.
package struct AttemptKeys: Sendable {
    package let source: [UInt8]
    package let account: [UInt8]
    package let kind: AttemptKind

    package init(source: [UInt8], account: [UInt8], kind: AttemptKind = .guess) {
        self.kind = kind
        self.source = source
        self.account = account
    }
}

extension Store {
    /// Counts an attempt as one that failed, before anything is known of it.
    ///
    /// So guesses that come at once are counted one after the other, on whatever instance. A source that has to wait adds nothing to
    /// the account, and keeps nobody else from it.
    ///
    /// - Parameters:
    ///   - keys: what it is counted for.
    ///   - application: where.
    /// - Returns: Nil when the attempt may be made; else the seconds to wait, and nothing was counted for what has to wait.
    /// - Throws: `store_unavailable` and its like.
    package func countAttempt(_ keys: AttemptKeys, of application: Application) async throws(Failure) -> Int? {
        let attempts = "\(quoted(application.schema)).attempts"
        let rules = keys.kind.rules
        let result = try await query(
            Statement(
                sql: """
                    with source as (
                        \(Self.count("select $1", in: attempts, by: rules.source))
                    ), account as (
                        \(Self.count("select $2 from source", in: attempts, by: rules.account))
                    )
                    select exists (select from account), (
                        select max(ceil(extract(epoch from greatest(blocked_until, case
                            when recent >= case key when $1 then \(rules.source.mostInAnHour)
                                else \(rules.account.mostInAnHour) end then counted_since + interval '1 hour'
                            end) - now()))) from \(attempts) where key in ($1, $2)
                    )::bigint
                    """,
                binds: [.bytes(keys.source), .bytes(keys.account)]
            ),
            of: application
        )
        return try read { () throws(PostgresError) in
            guard let row = result.first, try !row.decode(0, as: Bool.self) else { return nil }
            // The row that stood in the way may be younger than this statement.
            return max(try row.decode(1, as: Int?.self) ?? 1, 1)
        }
    }

    /// Long ago: a moment of this statement would be in the future for one that began before and had to wait for the row.
    private static let noWait = "to_timestamp(0)"

    /// Counts one more for the key, unless it has to wait; then nothing comes back.
    static func count(_ key: String, in attempts: String, by rule: AttemptRule) -> String {
        let isForgotten = "a.last <= now() - interval '\(rule.memory) s'"
        let isOver = "a.counted_since <= now() - interval '1 hour'"
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
            where a.blocked_until <= now() and (a.recent < \(rule.mostInAnHour) or \(isOver))
            returning true
            """
    }

    /// Takes an attempt back that was no failure: the account starts anew, the source has one less.
    ///
    /// A wait that the source has to keep stays, else own successes would buy guesses at others (security.md V-82).
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

    /// Takes an attempt back that was never made.
    package func withdrawAttempt(_ keys: AttemptKeys, of application: Application) async throws(Failure) {
        let attempts = "\(quoted(application.schema)).attempts"
        _ = try await query(
            Statement(
                sql: """
                    with source as (\(Self.oneLess(of: attempts)) where key = $1 returning key)
                    \(Self.oneLess(of: attempts)) from (select count(*) from source) one where a.key = $2
                    """,
                binds: [.bytes(keys.source), .bytes(keys.account)]
            ),
            of: application
        )
    }

    private static func oneLess(of attempts: String) -> String {
        "update \(attempts) a set failures = greatest(failures - 1, 0), recent = greatest(recent - 1, 0)"
    }
}
