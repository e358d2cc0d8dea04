import Domain
import Metrics
import Providers

/// The kinds of requests to Graph. Metrics have the same names.
extension ProviderCall {
    static let debugToken = ProviderCall("facebook", "debug_token")
    static let me = ProviderCall("facebook", "me")
    static let app = ProviderCall("facebook", "app")
    static let fields = ProviderCall("facebook", "fields")
    static let codeExchange = ProviderCall("facebook", "code_exchange")
    static let tokenExchange = ProviderCall("facebook", "token_exchange")
    static let permissionRemoval = ProviderCall("facebook", "permission_removal")
    static let signingKeys = ProviderCall("facebook", "signing_keys")
}

/// The gauges of an app's rate limits at Graph.
struct UsageGauges: Sendable {
    private let callCount: Gauge
    private let totalTime: Gauge
    private let totalCPUTime: Gauge
    private let regain: Gauge

    init(_ key: AppLink.Key) {
        func gauge(_ name: String, _ more: (String, String)...) -> Gauge {
            Gauge(label: name, dimensions: [("application", key.application.text), ("app", key.app.text)] + more)
        }
        callCount = gauge("federation_graph_usage_percent", ("allowance", "call_count"))
        totalTime = gauge("federation_graph_usage_percent", ("allowance", "total_time"))
        totalCPUTime = gauge("federation_graph_usage_percent", ("allowance", "total_cputime"))
        regain = gauge("federation_graph_regain_access_seconds")
    }

    func note(_ usage: GraphUsage) {
        for (gauge, percent) in [
            (callCount, usage.callCount), (totalTime, usage.totalTime), (totalCPUTime, usage.totalCPUTime),
        ] {
            if let percent { gauge.record(percent) }
        }
    }

    /// Records the seconds until Graph accepts the app's requests again, from the header `X-Business-Use-Case-Usage`.
    ///
    /// A header without a time means that the app can send requests now.
    func note(businessUsage header: String) {
        regain.record(RateLimit.seconds(businessUsage: header) ?? 0)
    }
}
