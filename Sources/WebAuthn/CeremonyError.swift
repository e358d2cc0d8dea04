/// The reason why an authenticator's response is refused.
///
/// The raw value appears in logs. It contains no data of the response.
package enum CeremonyError: String, Error, Sendable, CaseIterable {
    /// The credential's JSON is not that of a public key credential.
    case malformedCredential = "malformed_credential"
    case malformedClientData = "malformed_client_data"
    case malformedAttestation = "malformed_attestation"
    case malformedAuthenticatorData = "malformed_authenticator_data"
    /// The public key is for an algorithm that was not offered, or is not a valid key of its algorithm.
    case unsupportedKey = "unsupported_key"
    /// An assertion was expected, but the client data are for a registration; or a registration was expected, but they
    /// are for an assertion.
    case wrongType = "wrong_type"
    case wrongChallenge = "wrong_challenge"
    case wrongOrigin = "wrong_origin"
    /// The ceremony took place in a frame that a page of another origin embeds.
    case embedded = "embedded"
    case wrongRelyingParty = "wrong_relying_party"
    case userAbsent = "user_absent"
    case userUnverified = "user_unverified"
    /// The backup flags contradict each other, or the backup eligibility of the credential has changed.
    case inconsistentBackup = "inconsistent_backup"
    /// The response is for another credential than the expected one.
    case wrongCredential = "wrong_credential"
    /// The response has the user handle of another user, or it lacks the user handle that is needed to identify the
    /// user.
    case wrongUser = "wrong_user"
    case invalidSignature = "invalid_signature"
    /// The signature counter has not grown, so probably a copy of the passkey was used elsewhere.
    case cloned = "cloned"
}
