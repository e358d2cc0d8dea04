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
    /// The client data are for an assertion although a registration was expected, or the reverse.
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
    /// The user handle is not that of the passkey's user, or it is missing although it has to identify the user.
    case wrongUser = "wrong_user"
    case invalidSignature = "invalid_signature"
    /// The signature counter has not grown: a copy of the passkey was used elsewhere.
    case cloned = "cloned"
}
