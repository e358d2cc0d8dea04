import Domain
import Logging
import Metrics
import Store

/// The results of one poll of an application's mail queue: the number of mails with each outcome, and the latest error.
///
/// The report contains no address, since readers of the log must not learn to whom mails were sent.
struct MailReport {
    /// The number of lost mails.
    ///
    /// An instance began to send them and never recorded an outcome, so they were given up.
    var lost = 0
    private var counts: [String: Int] = [:]
    private var problem: String?

    mutating func note(_ end: MailEnd) {
        switch end {
        case .sent: counts["sent", default: 0] += 1
        case .waiting(_, let problem): count("postponed", problem)
        case .failed(let problem): count("failed", problem)
        case .uncertain(let problem): count("uncertain", problem)
        }
    }

    mutating func note(_ failure: Failure) {
        count(failure.reason.rawValue, failure.cause ?? failure.message)
    }

    private mutating func count(_ name: String, _ problem: String) {
        counts[name, default: 0] += 1
        self.problem = problem
    }

    /// Adds the results to the metrics.
    func count() {
        for outcome in ["sent", "postponed", "failed", "uncertain", "lost"] {
            let number = outcome == "lost" ? lost : counts[outcome, default: 0]
            guard number > 0 else { continue }
            Counter(label: "federation_mails_total", dimensions: [("outcome", outcome)]).increment(by: number)
        }
    }

    /// Logs the results in one line; logs nothing if there are no results.
    func log(of application: ApplicationID, to logger: Logger) {
        var metadata: Logger.Metadata = counts.mapValues { "\($0)" }
        if lost > 0 { metadata["lost"] = "\(lost)" }
        guard !metadata.isEmpty else { return }
        metadata["application"] = "\(application)"
        guard problem == nil, lost == 0 else {
            if let problem { metadata["problem"] = "\(problem)" }
            return logger.warning("mails", metadata: metadata)
        }
        logger.info("mails", metadata: metadata)
    }
}
