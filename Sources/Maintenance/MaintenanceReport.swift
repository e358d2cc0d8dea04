import Applications
import Domain
import Logging
import Logins
import Metrics
import Store

/// The results of one round of background work: numbers, and reasons of failures.
///
/// The report names no user. Readers of a log must not learn which users a round concerned.
struct MaintenanceReport: Sendable {
    private var results: [String: Int] = [:]
    private var failures: [String: Int] = [:]
    private var cause: String?
    /// The number of identities that this instance claimed but did not check.
    ///
    /// Requests to the provider had to pause, or the claim had expired. A later round checks these identities.
    var left = 0
    /// The numbers of purged rows, by kind.
    var purged: [Expired: Int] = [:]
    /// The number of purged sessions, all of which had ended.
    var sessions = 0
    /// The number of purged guests, all of whom had no session left.
    var guests = 0
    /// The number of merges of users that became final or were forgotten.
    var merges = 0
    /// The number of rows that were purged from the log of logins.
    var logins = 0
    /// The number of providers' access tokens that were deleted, since they were useless or no longer to be kept.
    var forgotten = 0
    /// The number of deletion requests that were carried out.
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
        merges += other.merges
        logins += other.logins
        forgotten += other.forgotten
        erased += other.erased
    }

    private mutating func count(_ name: String, _ number: Int = 1) {
        results[name, default: 0] += number
    }

    /// Adds the results to the metrics.
    func count() {
        Counter(
            label: "federation_maintenance_rounds_total",
            dimensions: [("outcome", failures.isEmpty ? "done" : "blocked")]
        ).increment()
        for result in ["stand", "refreshed", "revoked", "ended", "postponed", "superseded", "exchanged"] {
            guard let number = results[result] else { continue }
            Counter(label: "federation_maintenance_checks_total", dimensions: [("result", result)]).increment(
                by: number
            )
        }
        var removed: [(String, Int)] = [
            ("sessions", sessions), ("guests", guests), ("logins", logins), ("tokens", forgotten),
            ("erased_users", erased), ("merges", merges),
        ]
        for (expired, number) in purged { removed.append((expired.name, number)) }
        for (what, number) in removed where number > 0 {
            Counter(label: "federation_maintenance_removed_total", dimensions: [("what", what)]).increment(by: number)
        }
    }

    /// Returns the end time and the failures of the round, which operators can read in the administration API.
    func round(endedAt moment: Int64) -> MaintenanceRounds.Round {
        MaintenanceRounds.Round(ended: moment, failures: failures, cause: cause)
    }

    /// Logs one line, unless there was nothing to do.
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
        add("mergesFinal", merges)
        add("loginsRemoved", logins)
        guard failures.isEmpty else {
            for (reason, number) in failures { metadata[reason] = "\(number)" }
            if let cause { metadata["cause"] = "\(cause)" }
            return logger.warning("maintenance", metadata: metadata)
        }
        if !metadata.isEmpty { logger.info("maintenance", metadata: metadata) }
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
