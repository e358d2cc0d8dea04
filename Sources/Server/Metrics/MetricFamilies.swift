import Observability
import Postgres

/// Every metric of the service; docs/metrics.md explains them.
///
/// Other modules refer to the metrics by name. A metric that is not declared here is not on the page.
extension MetricFamily {
    static let all = logins + providers + requests + sessions + work + mails + postgres + configuration + process

    /// Histogram bounds in seconds, for waits of users.
    private static let waits = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    /// Histogram bounds in seconds, for parts that may be pure computation.
    private static let parts = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025] + waits

    private static let logins = [
        MetricFamily(
            "federation_logins_total",
            .counter,
            "Logins by how they ended.",
            labels: ["application", "provider", "credential", "outcome"],
            // A thousand applications have some thousand combinations of labels.
            most: 10_000
        ),
        MetricFamily(
            "federation_login_seconds",
            .histogram(waits),
            "How long logins took.",
            labels: ["provider", "credential", "result"]
        ),
        MetricFamily(
            "federation_login_log_total",
            .counter,
            "Logins by what became of them in the log of logins.",
            labels: ["result"]
        ),
        MetricFamily(
            "federation_login_stage_seconds",
            .histogram(parts),
            "How long the parts of a login took.",
            labels: ["stage"]
        ),
        MetricFamily("federation_logins_in_flight", .gauge, "Logins by a provider that are under way.", isRead: true),
        MetricFamily(
            "federation_admission_limit",
            .gauge,
            "How much may be under way at once now.",
            labels: ["work"],
            isRead: true
        ),
        MetricFamily(
            "federation_event_loops_late",
            .gauge,
            "Event loops of requests that were late at the last look.",
            isRead: true
        ),
        MetricFamily(
            "federation_admission_refused_total",
            .counter,
            "What was refused since too much was under way.",
            labels: ["work"],
            isRead: true
        ),
        MetricFamily("federation_writes_in_flight", .gauge, "Writes of logins at the database.", isRead: true),
        MetricFamily("federation_writes_waiting", .gauge, "Writes of logins that wait for their turn.", isRead: true),
        MetricFamily(
            "federation_rate_limited_total",
            .counter,
            "Requests that were refused by a rate.",
            labels: ["limit"],
            isRead: true
        ),
        MetricFamily(
            "federation_password_hashes",
            .gauge,
            "Hashes of passwords that are being computed, and that wait to be.",
            labels: ["state"],
            isRead: true
        ),
    ]

    private static let providers = [
        MetricFamily(
            "federation_provider_calls_seconds",
            .histogram(waits),
            "How long calls of providers took, by how they ended.",
            labels: ["provider", "call", "outcome"]
        ),
        MetricFamily(
            "federation_provider_breaker_open",
            .gauge,
            "1 while logins by an app of an application are refused since its provider does not answer or limits us.",
            labels: ["provider", "application", "app"],
            most: 10_000
        ),
        MetricFamily(
            "federation_graph_usage_percent",
            .gauge,
            "How much of an allowance of the hour an app has used at Facebook, as Facebook last said (X-App-Usage).",
            labels: ["application", "app", "allowance"],
            most: 10_000
        ),
        MetricFamily(
            "federation_graph_regain_access_seconds",
            .gauge,
            "How long Facebook last said that it keeps an app out (X-Business-Use-Case-Usage).",
            labels: ["application", "app"],
            most: 10_000
        ),
    ]

    private static let requests = [
        MetricFamily(
            "federation_http_requests_seconds",
            .histogram([0.001, 0.0025] + waits),
            "How long requests took until their reply began.",
            labels: ["listener", "method", "route", "status"]
        ),
        MetricFamily(
            "federation_http_requests_in_flight",
            .gauge,
            "Requests that are under way.",
            labels: ["listener"]
        ),
    ]

    private static let sessions = [
        MetricFamily(
            "federation_session_checks_total",
            .counter,
            "Looks for the session of a token that was shown.",
            labels: ["outcome"]
        ),
        MetricFamily("federation_sessions_signed_out_total", .counter, "Sessions that their clients ended."),
    ]

    private static let work = [
        MetricFamily(
            "federation_upkeep_rounds_total",
            .counter,
            "Rounds of the work in the background.",
            labels: ["outcome"]
        ),
        MetricFamily(
            "federation_upkeep_last_round_timestamp_seconds",
            .gauge,
            "When the last round ended, as Unix time; 0 before the first."
        ),
        MetricFamily(
            "federation_upkeep_checks_total",
            .counter,
            "Checks of kept tokens of providers, by what came of them.",
            labels: ["result"]
        ),
        MetricFamily(
            "federation_upkeep_removed_total",
            .counter,
            "What was removed in the background.",
            labels: ["what"]
        ),
    ]

    private static let mails = [
        MetricFamily("federation_mails_queued_total", .counter, "Mails that were written for the queue."),
        MetricFamily(
            "federation_mails_total",
            .counter,
            "Attempts to send a mail, by how they ended.",
            labels: ["outcome"]
        ),
        MetricFamily(
            "federation_mail_wait_seconds",
            .histogram([1, 5, 10, 30, 60, 300, 900, 3600, 21_600, 86_400]),
            "How long mails that were sent had been in the queue."
        ),
    ]

    private static let postgres = [
        MetricFamily(
            "federation_postgres_connections",
            .gauge,
            "Open connections to PostgreSQL.",
            labels: ["pool", "kind"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_statements_in_flight",
            .gauge,
            "Statements on pipelined connections that are not answered yet.",
            labels: ["pool"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_waiting",
            .gauge,
            "What waits for a connection.",
            labels: ["pool", "what"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_leased",
            .gauge,
            "Exclusive connections that somebody has.",
            labels: ["pool"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_statements_total",
            .counter,
            "Statements by how they ended.",
            labels: ["pool", "outcome"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_statement_seconds",
            .histogram(DurationCounts.bounds),
            "How long callers waited for the end of a statement, the wait for a connection included.",
            labels: ["pool"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_leases_total",
            .counter,
            "Questions for an exclusive connection, by how they ended.",
            labels: ["pool", "outcome"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_connects_total",
            .counter,
            "Attempts to open a connection to a host, and those that failed.",
            labels: ["pool", "what"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_connections_lost_total",
            .counter,
            "Connections that broke after they had been open.",
            labels: ["pool"],
            isRead: true
        ),
    ]

    private static let configuration = [
        MetricFamily(
            "federation_build_info",
            .gauge,
            "1; the label says which version runs.",
            labels: ["version"],
            isRead: true
        ),
        MetricFamily("federation_applications", .gauge, "Applications in memory.", isRead: true),
        MetricFamily(
            "federation_configuration_revision",
            .gauge,
            "The revision of the configuration in memory.",
            isRead: true
        ),
        MetricFamily(
            "federation_configuration_age_seconds",
            .gauge,
            "How long ago the configuration in memory was last known to be what the database has.",
            isRead: true
        ),
        MetricFamily(
            "federation_clock_offset_seconds",
            .gauge,
            "How far the clock of this machine was ahead of the main database's when that was asked.",
            isRead: true
        ),
        MetricFamily(
            "federation_log_lines_dropped_total",
            .counter,
            "Lines of the log that were not written.",
            labels: ["reason"],
            isRead: true
        ),
        MetricFamily(
            "federation_trace_spans_total",
            .counter,
            "Spans that a collector took, and those that were dropped.",
            labels: ["outcome"],
            isRead: true
        ),
        MetricFamily("federation_trace_spans_waiting", .gauge, "Spans that wait to be exported.", isRead: true),
    ]

    /// The metrics of the process, with the names of Prometheus' own client libraries.
    private static let process = [
        MetricFamily(
            "process_cpu_seconds_total",
            .counter,
            "User and system time of the process.",
            isRead: true
        ),
        MetricFamily("process_resident_memory_bytes", .gauge, "Memory of the process that is in RAM.", isRead: true),
        MetricFamily("process_open_fds", .gauge, "Open file descriptors.", isRead: true),
        MetricFamily("process_max_fds", .gauge, "How many file descriptors may be open.", isRead: true),
        MetricFamily(
            "process_start_time_seconds",
            .gauge,
            "When the process started, as Unix time.",
            isRead: true
        ),
    ]
}
