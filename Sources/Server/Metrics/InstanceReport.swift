import Domain
import Encodings
import Observability
import Secrets
import ServiceLifecycle

/// Collects this instance's report for operators: how long login stages and provider requests recently took, and which
/// apps are unavailable.
///
/// Each instance reports only its own logins. The data that concern all instances are in the database, and not in this
/// report.
struct InstanceReport: Service {
    private let metrics: MetricRegistry
    private let times: RecentTimes
    private let clock: WallClock
    /// The time at which the process started, in milliseconds since 1970.
    private let started: Int64

    private static let stages = "federation_login_stage_seconds"
    private static let calls = "federation_provider_calls_seconds"
    private static let breakers = "federation_provider_breaker_open"
    private static let usage = "federation_graph_usage_percent"

    /// The maximum number of apps in the report.
    ///
    /// With thousands of apps, operators look only for those with problems.
    private static let maxApps = 100

    init(metrics: MetricRegistry, clock: WallClock) {
        self.metrics = metrics
        self.clock = clock
        started = clock.milliseconds
        times = RecentTimes(metrics, of: [Self.stages, Self.calls], at: started)
    }

    /// At intervals, reads the histograms from which the report's durations are computed.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: RecentTimes.interval)
                if !Task.isCancelled { times.snapshot(at: clock.milliseconds) }
            }
        }
    }

    /// Returns the report: `{"version", "started", "since", "stages", "calls", "apps"}`.
    ///
    /// `stages` and `calls` contain durations measured after `since`, which is the start of the process or about an
    /// hour ago. `apps` are the providers' apps for which the service sends no requests at present, and those that have
    /// used part of the provider's rate limit; the worst are first.
    @Sendable
    func json() -> JSONValue {
        .object([
            "version": .string(FederationCommand.version), "started": .integer(started),
            "since": .integer(times.since), "stages": .array(stages), "calls": .array(calls), "apps": .array(apps),
        ])
    }

    private var stages: [JSONValue] {
        times.observations(of: Self.stages).sorted { $0.labels["stage"] ?? "" < $1.labels["stage"] ?? "" }
            .map { labels, observations in
                .object([
                    "stage": .string(labels["stage"] ?? ""), "count": .integer(Int64(observations.count)),
                    "milliseconds": observations.json,
                ])
            }
    }

    private var calls: [JSONValue] {
        struct Call: Hashable { let (provider, name): (String, String) }
        var found: [Call: [String: Observations]] = [:]
        for (labels, observations) in times.observations(of: Self.calls) {
            let call = Call(provider: labels["provider"] ?? "", name: labels["call"] ?? "")
            found[call, default: [:]][labels["outcome"] ?? ""] = observations
        }
        return found.sorted { ($0.key.provider, $0.key.name) < ($1.key.provider, $1.key.name) }.map { call, outcomes in
            let answered = outcomes["answered"]
            let others = outcomes.filter { $0.key != "answered" }.sorted { $0.key < $1.key }
                .map { JSONObject.Member($0.key, .integer(Int64($0.value.count))) }
            return .object([
                "provider": .string(call.provider), "call": .string(call.name),
                "answered": .integer(Int64(answered?.count ?? 0)), "unanswered": .object(JSONObject(others)),
                "milliseconds": answered?.json ?? .null,
            ])
        }
    }

    private var apps: [JSONValue] {
        struct App: Hashable { let (provider, application, id): (String, String, String) }
        struct State {
            var isShutOut = false
            var allowances: [String: Double] = [:]
            var highest: Double { allowances.values.max() ?? 0 }
        }
        func app(_ labels: [String: String]) -> App {
            // Only Facebook reports usage, so its metric has no provider.
            App(
                provider: labels["provider"] ?? "facebook",
                application: labels["application"] ?? "",
                id: labels["app"] ?? ""
            )
        }
        var states: [App: State] = [:]
        for reading in metrics.readings(of: Self.breakers) where reading.number == 1 {
            states[app(reading.labels), default: State()].isShutOut = true
        }
        for reading in metrics.readings(of: Self.usage) {
            states[app(reading.labels), default: State()].allowances[reading.labels["allowance"] ?? ""] = reading.number
        }
        let worst = states.sorted { one, other in
            if one.value.isShutOut != other.value.isShutOut { return one.value.isShutOut }
            if one.value.highest != other.value.highest { return one.value.highest > other.value.highest }
            return (one.key.application, one.key.id) < (other.key.application, other.key.id)
        }
        return worst.prefix(Self.maxApps).map { app, state in
            let allowances = state.allowances.sorted { $0.key < $1.key }
                .map { JSONObject.Member($0.key, .integer(Int64($0.value))) }
            return .object([
                "provider": .string(app.provider), "application": .string(app.application), "app": .string(app.id),
                "shutOut": .bool(state.isShutOut), "allowances": .object(JSONObject(allowances)),
            ])
        }
    }
}

extension Observations {
    /// The 50th, 95th and 99th percentile in milliseconds.
    fileprivate var json: JSONValue {
        func milliseconds(_ share: Double) -> JSONValue {
            let hundredths = (quantile(share) ?? 0) * 100_000
            return JSONNumber(hundredths.rounded() / 100).map(JSONValue.number) ?? .null
        }
        return .object(["p50": milliseconds(0.5), "p95": milliseconds(0.95), "p99": milliseconds(0.99)])
    }
}
