import Metrics

/// The timer of verifying a provider's evidence: a stage of a login without requests.
package enum VerificationTimer {
    private static let timer = Timer(
        label: "federation_login_stage_seconds",
        dimensions: [("stage", "verification")]
    )

    package static func note(since began: ContinuousClock.Instant) {
        timer.record(duration: began.duration(to: .now))
    }
}
