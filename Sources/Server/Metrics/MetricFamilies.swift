import Observability
import Postgres

/// Every metric of the service; docs/metrics.md explains them.
///
/// Other modules refer to the metrics by name. A metric that is not declared in this list does not appear on the page
/// of metrics.
extension MetricFamily {
    static let all = logins + providers + requests + sessions + work + mails + postgres + configuration + process

    /// The bounds of histogram buckets in seconds, for times that users wait.
    private static let waits = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    /// The bounds of histogram buckets in seconds, for stages of a login.
    ///
    /// The lowest bounds are for stages that only compute.
    private static let parts = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025] + waits

    private static let logins = [
        MetricFamily(
            "federation_logins_total",
            .counter,
            "Logins by outcome.",
            labels: ["application", "provider", "credential", "outcome"],
            // A thousand applications have some thousand combinations of labels.
            max: 10_000
        ),
        MetricFamily(
            "federation_login_seconds",
            .histogram(waits),
            "Duration of logins.",
            labels: ["provider", "credential", "result"]
        ),
        MetricFamily(
            "federation_login_log_total",
            .counter,
            "Logins by what became of them in the login log.",
            labels: ["result"]
        ),
        MetricFamily(
            "federation_login_stage_seconds",
            .histogram(parts),
            "Duration of the stages of a login.",
            labels: ["stage"]
        ),
        MetricFamily("federation_logins_in_flight", .gauge, "Running logins with a provider.", isRead: true),
        MetricFamily(
            "federation_admission_limit",
            .gauge,
            "Current concurrency limit.",
            labels: ["work"],
            isRead: true
        ),
        MetricFamily(
            "federation_event_loops_late",
            .gauge,
            "Event loops of requests that were late at the last check.",
            isRead: true
        ),
        MetricFamily(
            "federation_admission_refused_total",
            .counter,
            "Refusals because of a concurrency limit.",
            labels: ["work"],
            isRead: true
        ),
        MetricFamily("federation_writes_in_flight", .gauge, "Running login writes at the database.", isRead: true),
        MetricFamily("federation_writes_waiting", .gauge, "Waiting login writes.", isRead: true),
        MetricFamily(
            "federation_rate_limited_total",
            .counter,
            "Requests refused by a rate limit.",
            labels: ["limit"],
            isRead: true
        ),
        MetricFamily(
            "federation_password_hashes",
            .gauge,
            "Password hashes that are being computed, and that wait.",
            labels: ["state"],
            isRead: true
        ),
    ]

    private static let providers = [
        MetricFamily(
            "federation_provider_calls_seconds",
            .histogram(waits),
            "Duration of requests to providers, by outcome.",
            labels: ["provider", "call", "outcome"]
        ),
        MetricFamily(
            "federation_provider_breaker_open",
            .gauge,
            "1 while logins with an app are refused because its provider does not respond or limits the rate.",
            labels: ["provider", "application", "app"],
            max: 10_000
        ),
        MetricFamily(
            "federation_password_source_total",
            .counter,
            "Questions to former systems whether a password is right, by outcome.",
            labels: ["outcome"]
        ),
        MetricFamily(
            "federation_graph_usage_percent",
            .gauge,
            "Used part of an app's hourly rate limit at Facebook, as Facebook last reported (X-App-Usage).",
            labels: ["application", "app", "allowance"],
            max: 10_000
        ),
        MetricFamily(
            "federation_graph_regain_access_seconds",
            .gauge,
            "How long Facebook last reported to block an app (X-Business-Use-Case-Usage).",
            labels: ["application", "app"],
            max: 10_000
        ),
    ]

    private static let requests = [
        MetricFamily(
            "federation_http_requests_seconds",
            .histogram([0.001, 0.0025] + waits),
            "Duration of requests until the response began.",
            labels: ["listener", "method", "route", "status"]
        ),
        MetricFamily(
            "federation_http_requests_in_flight",
            .gauge,
            "Running requests.",
            labels: ["listener"]
        ),
    ]

    private static let sessions = [
        MetricFamily(
            "federation_session_checks_total",
            .counter,
            "Lookups of the session of a token.",
            labels: ["outcome"]
        ),
        MetricFamily("federation_sessions_signed_out_total", .counter, "Sessions revoked by their clients."),
        MetricFamily(
            "federation_refresh_token_reuses_total",
            .counter,
            "Sessions that ended since one of their refresh tokens was used twice."
        ),
    ]

    private static let work = [
        MetricFamily(
            "federation_maintenance_rounds_total",
            .counter,
            "Runs of the background work.",
            labels: ["outcome"]
        ),
        MetricFamily(
            "federation_maintenance_last_round_timestamp_seconds",
            .gauge,
            "When the last run ended, as Unix time. 0 before the first."
        ),
        MetricFamily(
            "federation_maintenance_checks_total",
            .counter,
            "Checks of stored provider tokens, by result.",
            labels: ["result"]
        ),
        MetricFamily(
            "federation_maintenance_removed_total",
            .counter,
            "Purged rows.",
            labels: ["what"]
        ),
    ]

    private static let mails = [
        MetricFamily("federation_mails_queued_total", .counter, "Mails added to the queue."),
        MetricFamily(
            "federation_mails_total",
            .counter,
            "Attempts to send a mail, by outcome.",
            labels: ["outcome"]
        ),
        MetricFamily(
            "federation_mail_wait_seconds",
            .histogram([1, 5, 10, 30, 60, 300, 900, 3600, 21_600, 86_400]),
            "Time that sent mails had been in the queue."
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
            "Statements in flight on pipelined connections.",
            labels: ["pool"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_waiting",
            .gauge,
            "Requests that wait for a connection.",
            labels: ["pool", "what"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_leased",
            .gauge,
            "Leased exclusive connections.",
            labels: ["pool"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_statements_total",
            .counter,
            "Statements by outcome.",
            labels: ["pool", "outcome"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_statement_seconds",
            .histogram(DurationCounts.bounds),
            "Duration of statements, including the wait for a connection.",
            labels: ["pool"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_leases_total",
            .counter,
            "Requests for an exclusive connection, by outcome.",
            labels: ["pool", "outcome"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_connects_total",
            .counter,
            "Attempts to open a connection to a host, and failed ones.",
            labels: ["pool", "what"],
            isRead: true
        ),
        MetricFamily(
            "federation_postgres_connections_lost_total",
            .counter,
            "Connections lost after they had been open.",
            labels: ["pool"],
            isRead: true
        ),
    ]

    private static let configuration = [
        MetricFamily(
            "federation_build_info",
            .gauge,
            "Always 1. The label is the running version.",
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
            "Age of the last check that the configuration in memory is current.",
            isRead: true
        ),
        MetricFamily(
            "federation_clock_offset_seconds",
            .gauge,
            "How far the clock of this machine was ahead of that of the main database at the last check.",
            isRead: true
        ),
        MetricFamily(
            "federation_log_lines_dropped_total",
            .counter,
            "Dropped log lines.",
            labels: ["reason"],
            isRead: true
        ),
        MetricFamily(
            "federation_trace_spans_total",
            .counter,
            "Exported and dropped spans.",
            labels: ["outcome"],
            isRead: true
        ),
        MetricFamily("federation_trace_spans_waiting", .gauge, "Spans waiting for export.", isRead: true),
    ]

    /// The metrics of the process, named as in Prometheus' own client libraries.
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
