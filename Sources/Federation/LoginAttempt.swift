import Vocabulary
import Mapping
import Store

/// One login of one application, on its way.
struct LoginAttempt: Sendable {
    let request: LoginRequest
    var loaded: LoadedApplication
    /// When nothing is begun any more.
    let end: ContinuousClock.Instant
    /// When Facebook must have answered.
    let providerDeadline: ContinuousClock.Instant

    init(
        request: LoginRequest,
        loaded: LoadedApplication,
        end: ContinuousClock.Instant,
        limits: Federation.Limits
    ) {
        self.request = request
        self.loaded = loaded
        self.end = end
        providerDeadline = end - limits.storeReserve
    }
}

/// What a credential came to: whom Facebook vouches for, and what the sign-in writes of the credential itself.
struct Proof: Sendable {
    var person: VerifiedPerson
    /// What of the person's profile fits.
    let profile: AdmittedProfile
    /// The token that stands behind the profile, for an application that keeps it.
    var token: ProviderToken?
    /// What the write uses up; nil for a credential that may be used again.
    var once: SingleUse?
}
