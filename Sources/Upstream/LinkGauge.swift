import Metrics
package import Vocabulary

/// Whether an app's circuit breaker is open, as it is shown: 0 while every login passes, 1 otherwise.
package struct LinkGauge: Sendable {
    private let gauge: Gauge

    /// - Parameters:
    ///   - provider: The kind of provider.
    ///   - application: The application that has set the app up.
    ///   - app: The app's id at the provider, as the application has it.
    package init(_ provider: ProviderName, _ application: ApplicationID, app: String) {
        let dimensions = [("provider", provider.text), ("application", application.text), ("app", app)]
        gauge = Gauge(label: "federation_provider_breaker_open", dimensions: dimensions)
    }

    /// To be called in the order of what happens to the breaker.
    package func note(_ breaker: CircuitBreaker) {
        gauge.record(breaker.isClosed ? 0 : 1)
    }
}
