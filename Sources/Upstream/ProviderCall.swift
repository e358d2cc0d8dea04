package import Curl
import Metrics
import Tracing

/// A question to a provider, as it is timed and traced: `provider` and `call` are words of ours.
///
/// Its instruments are found once, so that a login looks none up.
package struct ProviderCall: Sendable {
    /// How a call ended, seen from here.
    package enum Outcome: String, CaseIterable, Sendable {
        /// A reply came, whatever it says.
        case answered
        case timedOut = "timed_out"
        /// Nobody could be reached, or the connection broke.
        case unreachable
        /// A reply came that is no HTTP or too large.
        case unreadable
        /// It was not sent, since too many calls are under way.
        case overloaded
        /// Whoever asked went away.
        case cancelled
        /// Our own set-up does not make a request.
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

    /// Begins a call; how it ends must be told.
    package func begin() -> Running {
        let span = InstrumentationContext.current.map { startSpan(name, context: $0, ofKind: .client) }
        return Running(call: self, span: span, began: .now)
    }

    /// A call that is under way.
    package struct Running: Sendable {
        fileprivate let call: ProviderCall
        /// Nil where nothing is traced; whom we ask hears nothing of it.
        fileprivate let span: (any Span)?
        fileprivate let began: ContinuousClock.Instant

        /// Notes how it ended; nil stands for a reply.
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
