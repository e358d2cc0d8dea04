import Applications
import KeptTokens
import Logging
import Metrics
import Store
import Vocabulary

/// What one round of the maintenance did: numbers, and reasons of failures; whom it was about is nobody's to read in a
/// log.
struct MaintenanceReport: Sendable {
    private var results: [String: Int] = [:]
    private var failures: [String: Int] = [:]
    private var cause: String?
    /// Claimed identities that were left for later, since the provider was not to be asked or the claim was over.
    var left = 0
    /// Expired rows that were removed.
    var purged: [Expired: Int] = [:]
    /// Sessions that were over and removed.
    var sessions = 0
    /// Guests who had lost their session and were removed.
    var guests = 0
    /// Rows of the log of logins that were past their time.
    var logins = 0
    /// Tokens that are of no use any more or no longer to be kept.
    var forgotten = 0
    /// Requests for deletion that were carried out.
    var erased = 0

    mutating func note(_ result: CheckResult, exchanged: Bool?) {
        switch result {
        case .stands: count("stand")
        case .refreshed:
            count("stand")
            count("refreshed")
        case .revoked(let sessions):
            count("revoked")
            if sessions > 0 { count("sessionsEnded", sessions) }
        case .dropped: count("ended")
        case .forgotten: forgotten += 1
        case .postponed: count("postponed")
        case .superseded: count("superseded")
        }
        if let exchanged { count(exchanged ? "exchanged" : "notExchanged") }
    }

    mutating func note(_ failure: Failure) {
        failures[failure.reason.rawValue, default: 0] += 1
        cause = failure.cause ?? cause
    }

    mutating func add(_ other: MaintenanceReport) {
        results.merge(other.results, uniquingKeysWith: +)
        failures.merge(other.failures, uniquingKeysWith: +)
        purged.merge(other.purged, uniquingKeysWith: +)
        cause = other.cause ?? cause
        left += other.left
        sessions += other.sessions
        guests += other.guests
        logins += other.logins
        forgotten += other.forgotten
        erased += other.erased
    }

    private mutating func count(_ name: String, _ number: Int = 1) {
        results[name, default: 0] += number
    }

    /// Adds it to what is counted.
    func count() {
        Counter(
            label: "federation_upkeep_rounds_total",
            dimensions: [("outcome", failures.isEmpty ? "done" : "hindered")]
        ).increment()
        for result in ["stand", "refreshed", "revoked", "ended", "postponed", "superseded", "exchanged"] {
            guard let number = results[result] else { continue }
            Counter(label: "federation_upkeep_checks_total", dimensions: [("result", result)]).increment(by: number)
        }
        var removed: [(String, Int)] = [
            ("sessions", sessions), ("guests", guests), ("logins", logins), ("tokens", forgotten),
            ("erased_users", erased),
        ]
        for (expired, number) in purged { removed.append((expired.name, number)) }
        for (what, number) in removed where number > 0 {
            Counter(label: "federation_upkeep_removed_total", dimensions: [("what", what)]).increment(by: number)
        }
    }

    /// The round as operators are told of it.
    func round(endedAt moment: Int64) -> UpkeepRounds.Round {
        UpkeepRounds.Round(ended: moment, failures: failures, cause: cause)
    }

    /// One line, unless there was nothing to do.
    func log(to logger: Logger) {
        var metadata: Logger.Metadata = [:]
        for (name, number) in results { metadata[name] = "\(number)" }
        func add(_ name: String, _ number: Int?) {
            if let number, number > 0 { metadata[name] = "\(number)" }
        }
        add("left", left)
        add("forgotten", forgotten)
        add("erased", erased)
        add("sessionsRemoved", sessions)
        add("singleUsesRemoved", purged[.singleUses])
        add("mailsRemoved", purged[.mails])
        add("guestsRemoved", guests)
        add("loginsRemoved", logins)
        guard failures.isEmpty else {
            for (reason, number) in failures { metadata[reason] = "\(number)" }
            if let cause { metadata["cause"] = "\(cause)" }
            return logger.warning("upkeep", metadata: metadata)
        }
        if !metadata.isEmpty { logger.info("upkeep", metadata: metadata) }
    }
}

extension Expired {
    fileprivate var name: String {
        switch self {
        case .singleUses: "single_uses"
        case .attempts: "attempts"
        case .emailTokens: "email_tokens"
        case .removedIdentities: "removed_identities"
        case .removedFactors: "removed_factors"
        case .invitations: "invitations"
        case .trustedDevices: "trusted_devices"
        case .mails: "mails"
        }
    }
}
