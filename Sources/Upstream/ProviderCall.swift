package import Curl
import Metrics

/// A question to a provider, as it is timed: `provider` and `call` are words of ours.
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

    package init(_ provider: StaticString, _ call: StaticString) {
        timers = Dictionary(
            uniqueKeysWithValues: Outcome.allCases.map { outcome in
                let dimensions = [
                    ("provider", provider.description), ("call", call.description), ("outcome", outcome.rawValue),
                ]
                return (outcome, Timer(label: "federation_provider_calls_seconds", dimensions: dimensions))
            }
        )
    }

    /// Notes how a call ended; nil stands for a reply.
    package func note(_ error: CurlError?, since began: ContinuousClock.Instant) {
        timers[Outcome(error)]?.record(duration: began.duration(to: .now))
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
