import Applications
import Limiting
import Observability
import Passwords
import Postgres
import Store

/// Reads the statistics of the service's parts when a program requests the page of metrics.
///
/// The statistics need no query of the database, so the page works while the database is unreachable.
struct ServiceStatistics: Sendable {
    let telemetry: Telemetry
    /// The connection pools of the databases, each with its name in the metrics.
    let pools: [(name: String, databases: Databases)]
    let directory: ApplicationDirectory
    let passwords: PasswordHasher
    let admission: Admission
    let rateLimiter: RateLimiter

    @Sendable
    func page() async -> [UInt8] {
        var samples = ProcessStatistics.samples() + configuration + work + log + traces
        for (name, databases) in pools {
            samples += Self.samples(of: await databases.main.status(), named: name)
            // One row for all own databases, however many there are.
            guard !databases.own.isEmpty else { continue }
            var own = PostgresStatus()
            for client in databases.own { own.add(await client.status()) }
            samples += Self.samples(of: own, named: "own_" + name)
        }
        return telemetry.metrics.page(with: samples)
    }

    private var configuration: [MetricSample] {
        let statistics = directory.statistics
        var samples = [
            MetricSample("federation_build_info", [FederationCommand.version], 1),
            MetricSample("federation_applications", [], statistics.applications),
        ]
        if let revision = statistics.revision {
            samples.append(MetricSample("federation_configuration_revision", [], revision))
        }
        if let age = statistics.age {
            samples.append(MetricSample("federation_configuration_age_seconds", [], seconds: age))
        }
        if let offset = statistics.clockOffset {
            samples.append(MetricSample("federation_clock_offset_seconds", [], seconds: offset))
        }
        return samples
    }

    private var work: [MetricSample] {
        let hashes = passwords.statistics
        let admitted = admission.statistics
        var samples = [
            MetricSample("federation_logins_in_flight", [], admitted.logins.underWay),
            MetricSample("federation_admission_limit", ["logins"], admitted.logins.limit),
            MetricSample("federation_admission_limit", ["writes"], admitted.writes.limit),
            MetricSample("federation_event_loops_late", [], admitted.behind),
            MetricSample("federation_admission_refused_total", ["logins"], admitted.refused.logins),
            MetricSample("federation_admission_refused_total", ["writes"], admitted.refused.writes),
            MetricSample("federation_writes_in_flight", [], admitted.writes.underWay),
            MetricSample("federation_writes_waiting", [], admitted.writes.waiting),
            MetricSample("federation_password_hashes", ["computing"], hashes.working),
            MetricSample("federation_password_hashes", ["waiting"], hashes.waiting),
        ]
        for (policy, count) in rateLimiter.refused {
            samples.append(MetricSample("federation_rate_limited_total", [policy.name], count))
        }
        return samples
    }

    private var log: [MetricSample] {
        [
            MetricSample("federation_log_lines_dropped_total", ["reader_too_slow"], telemetry.output.dropped),
            MetricSample("federation_log_lines_dropped_total", ["repeated"], telemetry.notices.leftOut),
        ]
    }

    private var traces: [MetricSample] {
        let spans = telemetry.spans?.statistics ?? (exported: 0, dropped: 0, waiting: 0)
        return [
            MetricSample("federation_trace_spans_total", ["exported"], spans.exported),
            MetricSample("federation_trace_spans_total", ["dropped"], spans.dropped),
            MetricSample("federation_trace_spans_waiting", [], spans.waiting),
        ]
    }

    private static func samples(of status: PostgresStatus, named pool: String) -> [MetricSample] {
        let times = MetricSample.Value.histogram(
            counts: status.statementTimes.counts,
            sum: status.statementTimes.sum / .seconds(1)
        )
        return [
            MetricSample("federation_postgres_connections", [pool, "pipelined"], status.pipelinedOpen),
            MetricSample("federation_postgres_connections", [pool, "exclusive"], status.exclusiveOpen),
            MetricSample("federation_postgres_connections", [pool, "listening"], status.listening),
            MetricSample("federation_postgres_statements_in_flight", [pool], status.statementsInFlight),
            MetricSample("federation_postgres_waiting", [pool, "statement"], status.queuedStatements),
            MetricSample("federation_postgres_waiting", [pool, "lease"], status.queuedLeases),
            MetricSample("federation_postgres_leased", [pool], status.leased),
            MetricSample("federation_postgres_connects_total", [pool, "tried"], status.connectAttempts),
            MetricSample("federation_postgres_connects_total", [pool, "failed"], status.connectFailures),
            MetricSample("federation_postgres_connections_lost_total", [pool], status.connectionsLost),
            MetricSample("federation_postgres_statement_seconds", [pool], times),
        ]
            + samples(of: status.statements, as: "federation_postgres_statements_total", pool)
            + samples(of: status.leases, as: "federation_postgres_leases_total", pool)
    }

    private static func samples(of outcomes: Outcomes, as name: String, _ pool: String) -> [MetricSample] {
        [
            MetricSample(name, [pool, "done"], outcomes.done),
            MetricSample(name, [pool, "failed"], outcomes.failed),
            MetricSample(name, [pool, "lost"], outcomes.lost),
            MetricSample(name, [pool, "timed_out"], outcomes.timedOut),
            MetricSample(name, [pool, "overloaded"], outcomes.overloaded),
            MetricSample(name, [pool, "abandoned"], outcomes.abandoned),
        ]
    }
}
