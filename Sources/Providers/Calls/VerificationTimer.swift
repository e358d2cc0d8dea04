import Metrics

/// The metric of the time that a login needs to check the provider's responses or an ID token.
///
/// This stage of a login sends no requests.
package enum VerificationTimer {
    private static let timer = Timer(
        label: "federation_login_stage_seconds",
        dimensions: [("stage", "verification")]
    )

    package static func note(since began: ContinuousClock.Instant) {
        timer.record(duration: began.duration(to: .now))
    }
}
