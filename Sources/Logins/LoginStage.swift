import Metrics
import Tracing

/// A part of a login that somebody waits for, as it is timed and traced; the verification of a provider's evidence is
/// one, too, which `Upstream` times.
enum LoginStage: Sendable {
    /// The provider's word, its verification included; short where nobody has to be asked.
    case provider
    /// Profile to values.
    case mapping
    /// The statement that writes identity, user and session.
    case write

    /// Begins it; its end must be told.
    func begin() -> Running {
        let span = InstrumentationContext.current.map { startSpan("login \(self)", context: $0) }
        return Running(timer: timer, span: span, began: .now)
    }

    /// A stage that is under way.
    struct Running: Sendable {
        fileprivate let timer: Timer
        /// Nil where nothing is traced.
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

/// What is counted of sessions; those that are opened are counted as logins.
enum SessionCounters {
    /// Whether a token that was shown is of a live session.
    static let live = checks("live")
    static let none = checks("none")
    static let unknown = checks("unknown")
    /// Sessions that their clients ended.
    static let signedOut = Counter(label: "federation_sessions_signed_out_total")

    private static func checks(_ outcome: String) -> Counter {
        Counter(label: "federation_session_checks_total", dimensions: [("outcome", outcome)])
    }
}
