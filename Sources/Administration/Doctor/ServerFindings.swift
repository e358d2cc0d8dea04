import Domain
import Store

extension ServerFacts {
    /// Returns the problems that the facts about the PostgreSQL server show.
    ///
    /// The result depends only on the facts and on `now`.
    ///
    /// - Parameter now: The time of this machine when the facts were read, in Unix milliseconds.
    /// - Returns: The problems; without a problem, one finding of severity `ok`.
    func findings(now: Int64) -> [Finding] {
        database + [clock(now)]
    }

    /// The oldest PostgreSQL version that the SQL statements support.
    static let oldestVersion = 150_000

    private var database: [Finding] {
        var findings: [Finding] = []
        func say(_ severity: Finding.Severity, _ text: String, advice: String) {
            findings.append(Finding(severity, .database, text, advice: advice))
        }
        let number = "\(version / 10_000).\(version % 10_000)"
        if version < Self.oldestVersion {
            say(.error, "This is PostgreSQL \(number).", advice: "Upgrade to 15 or later.")
        }
        if encoding != "UTF8" {
            say(
                .error,
                "The encoding of the database is \(encoding), which cannot store all characters.",
                advice: "Create a database with encoding UTF8, and restore the data into it."
            )
        }
        if isStandby {
            say(
                .error,
                "The server is a standby and does not accept writes.",
                advice:
                    "Set FEDERATION_DATABASE_URL to the primary, or to all servers: the service then finds the primary."
            )
        }
        for setting in settings where setting.value == "off" {
            let (severity, text) = Self.consequence(of: setting.name)
            say(severity, "\(setting.name) is off: \(text).", advice: "alter system set \(setting.name) = on")
        }
        if !isEncrypted {
            say(
                .error,
                "The connection to PostgreSQL on another machine is not encrypted.",
                advice: "Set sslmode=verify-full in FEDERATION_DATABASE_URL."
            )
        }
        if isSuperuser {
            say(
                .warning,
                "The database role is a superuser.",
                advice: "Use a role with few rights: docs/operations/install.md#database-roles."
            )
        }
        if connections.open * 10 > connections.max * 9 {
            say(
                .warning,
                "\(connections.open) of \(connections.max) connections of the server are open.",
                advice: "Raise max_connections, or use a pooler."
            )
        }
        if age.transactions > age.freezing * 3 / 2 {
            say(
                .error,
                """
                The oldest transaction id is \(age.transactions) behind. At 2 000 000 000 PostgreSQL stops accepting \
                writes.
                """,
                advice:
                    "Find what blocks vacuum (long or prepared transactions, replication slots), then vacuum."
            )
        }
        if oldestTransaction > 300 {
            say(
                .warning,
                "A transaction has been open for \(oldestTransaction) s, so vacuum cannot remove dead rows.",
                advice: "Find the oldest xact_start in pg_stat_activity, and end it with pg_terminate_backend(pid)."
            )
        }
        if preparedTransactions > 0 {
            say(
                .warning,
                "\(preparedTransactions) prepared transactions are open. The service does not use them.",
                advice: "Find them with select * from pg_prepared_xacts, then use commit prepared or rollback prepared."
            )
        }
        if findings.isEmpty {
            findings.append(
                Finding(
                    .ok,
                    .database,
                    "PostgreSQL \(number), \(connections.open) of \(connections.max) connections open."
                )
            )
        }
        return findings
    }

    private static func consequence(of setting: String) -> (Finding.Severity, String) {
        switch setting {
        case "fsync", "full_page_writes": (.error, "a crash of the machine can destroy the database")
        case "synchronous_commit": (.warning, "a crash loses logins and changes that were already confirmed")
        default: (.error, "tables grow without vacuum, and query plans have no statistics")
        }
    }

    private func clock(_ now: Int64) -> Finding {
        let apart = time - now
        guard abs(apart) > WallClock.tolerance else {
            return Finding(.ok, .clock, "The clocks of this machine and of PostgreSQL agree.")
        }
        return Finding(
            .error,
            .clock,
            "The clock of PostgreSQL is \(abs(apart) / 1000) s \(apart > 0 ? "ahead of" : "behind") this machine's.",
            advice:
                "Synchronize both with NTP. Otherwise providers refuse signatures, and sessions expire early or late."
        )
    }
}

extension TableFacts {
    var finding: Finding {
        isAnalyzed
            ? Finding(
                .warning,
                .statistics,
                of: name,
                "\(deadRows) rows are dead and \(liveRows) are live.",
                advice: "vacuum (analyze) \(name); check whether a long transaction blocks autovacuum."
            )
            : Finding(
                .warning,
                .statistics,
                of: name,
                "PostgreSQL has never analyzed its \(liveRows) rows.",
                advice: "analyze \(name)"
            )
    }
}
