import Domain
import Store

extension ServerFacts {
    /// Returns the problems that the facts show, as a pure function.
    ///
    /// - Parameter now: The time of this machine, Unix milliseconds, when the facts were read.
    /// - Returns: The problems, or a finding that all is well.
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
                "The database is encoded as \(encoding): not every name can be stored.",
                advice: "Make one with encoding UTF8, and restore the data into it."
            )
        }
        if isStandby {
            say(
                .error,
                "The server takes no writes: it is a standby.",
                advice:
                    "Name the primary in FEDERATION_DATABASE_URL, or all servers: the one that takes writes is found."
            )
        }
        for setting in settings where setting.value == "off" {
            let (severity, text) = Self.consequence(of: setting.name)
            say(severity, "\(setting.name) is off: \(text).", advice: "alter system set \(setting.name) = on")
        }
        if !isEncrypted {
            say(
                .error,
                "The connection to PostgreSQL is not encrypted and leaves this machine.",
                advice: "Set sslmode=verify-full in FEDERATION_DATABASE_URL."
            )
        }
        if isSuperuser {
            say(
                .warning,
                "The role of the connection is a superuser, who may do anything on the server.",
                advice: "Serve with a role of few rights: docs/operations/install.md#database-roles."
            )
        }
        if connections.open * 10 > connections.most * 9 {
            say(
                .warning,
                "\(connections.open) of \(connections.most) connections of the server are open.",
                advice: "Raise max_connections, or put a pooler in front."
            )
        }
        if age.transactions > age.freezing * 3 / 2 {
            say(
                .error,
                "Transaction numbers are \(age.transactions) behind: at 2 000 000 000 PostgreSQL takes no writes any more.",
                advice:
                    "Look what keeps vacuum from its end (long or prepared transactions, replication slots); then vacuum."
            )
        }
        if oldestTransaction > 300 {
            say(
                .warning,
                "A transaction has been open for \(oldestTransaction) s: what is dead since cannot be cleared away.",
                advice: "Find it in pg_stat_activity, the oldest xact_start, and end it by pg_terminate_backend(pid)."
            )
        }
        if preparedTransactions > 0 {
            say(
                .warning,
                "\(preparedTransactions) two-phase transactions wait for an end; the service makes none.",
                advice: "select * from pg_prepared_xacts; then commit prepared or rollback prepared."
            )
        }
        if findings.isEmpty {
            findings.append(
                Finding(
                    .ok,
                    .database,
                    "PostgreSQL \(number), \(connections.open) of \(connections.most) connections open."
                )
            )
        }
        return findings
    }

    private static func consequence(of setting: String) -> (Finding.Severity, String) {
        switch setting {
        case "fsync", "full_page_writes": (.error, "a crash of the machine can destroy the database")
        case "synchronous_commit": (.warning, "a crash loses logins and changes that were answered already")
        default: (.error, "tables grow and are never cleaned, and plans rest on nothing")
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
                "Have both set by NTP: providers refuse what is signed at a wrong time, and sessions end early or late."
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
                "\(deadRows) rows are dead beside \(liveRows) that live.",
                advice: "vacuum (analyze) \(name); look whether a long transaction keeps autovacuum from it."
            )
            : Finding(
                .warning,
                .statistics,
                of: name,
                "PostgreSQL has never looked at what is in it, \(liveRows) rows.",
                advice: "analyze \(name)"
            )
    }
}
