package import Curl
import Metrics
import Tracing

/// A kind of request to a provider, with its metrics and traces.
///
/// The names `provider` and `call` are constants of this service.
///
/// The metrics are created once, not at each login.
package struct ProviderCall: Sendable {
    /// How a request to a provider ended.
    package enum Outcome: String, CaseIterable, Sendable {
        /// A response arrived, whatever its content.
        case answered
        case timedOut = "timed_out"
        /// No connection could be made, or the connection broke.
        case unreachable
        /// The response is not HTTP or is too large.
        case unreadable
        /// The request was not sent, since too many calls are in progress.
        case overloaded
        /// The client disconnected.
        case cancelled
        /// The configuration of the service does not yield a valid request.
        case invalid
    }

    private let timers: [Outcome: Timer]
    private let provider: String
    private let name: String

    package init(_ provider: StaticString, _ call: StaticString) {
        self.provider = provider.description
        name = "\(provider) \(call)"
        timers = Dictionary(
            uniqueKeysWithValues: Outcome.allCases.map { outcome in
                let dimensions = [
                    ("provider", provider.description), ("call", call.description), ("outcome", outcome.rawValue),
                ]
                return (outcome, Timer(label: "federation_provider_calls_seconds", dimensions: dimensions))
            }
        )
    }

    /// Begins to measure a request to a provider.
    ///
    /// The caller must report the end of the request by `Running.end`.
    package func begin() -> Running {
        let span = InstrumentationContext.current.map { startSpan(name, context: $0, ofKind: .client) }
        return Running(call: self, span: span, began: .now)
    }

    /// A request to a provider that is in progress and being measured.
    package struct Running: Sendable {
        fileprivate let call: ProviderCall
        /// The span of the request; nil if there is no tracing.
        ///
        /// The provider receives no tracing headers.
        fileprivate let span: (any Span)?
        fileprivate let began: ContinuousClock.Instant

        /// Records the outcome of the call.
        ///
        /// A nil error means that a response arrived.
        package func end(_ error: CurlError? = nil) {
            let outcome = Outcome(error)
            call.timers[outcome]?.record(duration: began.duration(to: .now))
            guard let span else { return }
            if span.isRecording {
                span.attributes = [
                    "federation.provider": .string(call.provider), "federation.outcome": .string(outcome.rawValue),
                ]
                if error != nil { span.setStatus(SpanStatus(code: .error)) }
            }
            span.end()
        }
    }
}

extension ProviderCall.Outcome {
    init(_ error: CurlError?) {
        self =
            switch error {
            case nil: .answered
            case .timeout: .timedOut
            case .resolve, .connect, .tls, .reset, .library: .unreachable
            case .replyTooLarge, .badReply: .unreadable
            case .overloaded: .overloaded
            case .cancelled, .shutDown: .cancelled
            case .invalidRequest: .invalid
            }
    }
}
