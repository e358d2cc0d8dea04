import Domain
import Logins
import Metrics
import NIOConcurrencyHelpers

/// Counts logins by their outcome, for the metrics.
///
/// A metric label can only name an existing application, a provider of that application, or a provider kind. `LoginLog`
/// ensures this, so clients cannot create labels at will.
final class LoginCounter: Sendable {
    private enum Outcome: Hashable {
        case created
        case updated
        case refused(Failure.Reason)

        var text: String {
            switch self {
            case .created: "created"
            case .updated: "updated"
            case .refused(let reason): reason.rawValue
            }
        }
    }

    private struct Key: Hashable {
        let application: ApplicationID
        let method: LoginOutcome.Method
        let credential: LoginOutcome.Credential
        let outcome: Outcome
    }

    private struct Instruments {
        let count: Counter
        let time: Metrics.Timer
    }

    /// The counter and the timer for each combination of application, login method, credential and outcome.
    ///
    /// They are cached, so a login costs one lookup and builds no text.
    private let instruments = NIOLockedValueBox<[Key: Instruments]>([:])

    @Sendable
    func count(_ login: LoginOutcome) {
        let outcome: Outcome =
            switch login.result {
            case .created: .created
            case .updated: .updated
            case .refused(let failure): .refused(failure.reason)
            }
        let key = Key(
            application: login.application,
            method: login.method,
            credential: login.credential,
            outcome: outcome
        )
        let found = instruments.withLockedValue { instruments in
            if let found = instruments[key] { return found }
            if instruments.count >= Self.max { instruments.removeAll() }
            let made = Self.instruments(of: key)
            instruments[key] = made
            return made
        }
        found.count.increment()
        found.time.record(duration: login.duration)
    }

    /// The maximum number of cached pairs of a counter and a timer.
    ///
    /// At this number, the cache is emptied. No metric loses its value, since the registry keeps the values.
    private static let max = 10_000

    private static func instruments(of key: Key) -> Instruments {
        let shown = [("provider", key.method.label), ("credential", key.credential.rawValue)]
        let result = if case .refused = key.outcome { "refused" } else { "signed_in" }
        return Instruments(
            count: Counter(
                label: "federation_logins_total",
                dimensions: [("application", key.application.text), ("outcome", key.outcome.text)] + shown
            ),
            time: Metrics.Timer(label: "federation_login_seconds", dimensions: shown + [("result", result)])
        )
    }
}

extension LoginOutcome.Method {
    /// The value of the metric label `provider`: the provider's name, or `unknown` for a name that is no provider.
    ///
    /// Empty for a login without a provider.
    fileprivate var label: String {
        switch self {
        case .provider(let name): name.text
        case .unknownProvider: "unknown"
        case .password, .guest, .server, .passkey: ""
        }
    }
}
