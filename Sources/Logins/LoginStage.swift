import Metrics
import Tracing

/// A stage of a login, with its duration and its trace.
///
/// The verification of a provider's credential is one more stage: `VerificationTimer` measures it.
enum LoginStage: Sendable {
    /// The authentication by the provider, including the verification. This stage is short if it needs no request to
    /// the provider.
    case provider
    /// The mapping of the profile to values.
    case mapping
    /// The SQL statement that writes the identity, the user and the session.
    case write

    /// Begins to measure a stage of a login; the caller must call `end()` on the result.
    func begin() -> Running {
        let span = InstrumentationContext.current.map { startSpan("login \(self)", context: $0) }
        return Running(timer: timer, span: span, began: .now)
    }

    /// A running stage.
    struct Running: Sendable {
        fileprivate let timer: Timer
        /// The span of the stage in the trace; nil without tracing.
        fileprivate let span: (any Span)?
        fileprivate let began: ContinuousClock.Instant

        func end() {
            timer.record(duration: began.duration(to: .now))
            span?.end()
        }
    }

    private var timer: Timer {
        switch self {
        case .provider: Self.providerTimer
        case .mapping: Self.mappingTimer
        case .write: Self.writeTimer
        }
    }

    private static let providerTimer = timer("provider")
    private static let mappingTimer = timer("mapping")
    private static let writeTimer = timer("write")

    private static func timer(_ stage: String) -> Timer {
        Timer(label: "federation_login_stage_seconds", dimensions: [("stage", stage)])
    }
}

/// The metrics that count checked session tokens and logouts.
///
/// Opened sessions are counted as logins instead.
enum SessionCounters {
    /// The number of checked session tokens that named a live session.
    static let live = checks("live")
    /// The number of checked session tokens that named no live session.
    static let none = checks("none")
    /// The number of checks of session tokens that failed, so that their result is unknown.
    static let unknown = checks("unknown")
    /// The number of sessions that clients ended by a logout.
    static let signedOut = Counter(label: "federation_sessions_signed_out_total")

    /// The number of sessions that ended since one of their refresh tokens was used twice.
    static let reused = Counter(label: "federation_refresh_token_reuses_total")

    private static func checks(_ outcome: String) -> Counter {
        Counter(label: "federation_session_checks_total", dimensions: [("outcome", outcome)])
    }
}
