import Metrics

/// How long a provider's evidence takes to be judged: a stage of a login in which nobody is asked.
package enum VerificationTimer {
    private static let timer = Timer(
        label: "federation_login_stage_seconds",
        dimensions: [("stage", "verification")]
    )

    package static func note(since began: ContinuousClock.Instant) {
        timer.record(duration: began.duration(to: .now))
    }
}
