package import Domain
import Metrics

/// The metric that shows whether the circuit breaker of an app is closed.
///
/// Its value is 0 while the breaker is closed, which means that it admits every login, and 1 otherwise.
package struct LinkGauge: Sendable {
    private let gauge: Gauge

    /// Creates the gauge.
    ///
    /// - Parameters:
    ///   - provider: The provider kind.
    ///   - application: The application of the app.
    ///   - app: The app's id at the provider, as in the settings.
    package init(_ provider: ProviderName, _ application: ApplicationID, app: String) {
        let dimensions = [("provider", provider.text), ("application", application.text), ("app", app)]
        gauge = Gauge(label: "federation_provider_breaker_open", dimensions: dimensions)
    }

    /// Records the state of the breaker.
    ///
    /// The caller must keep the order of the breaker's changes.
    package func note(_ breaker: CircuitBreaker) {
        gauge.record(breaker.isClosed ? 0 : 1)
    }
}
