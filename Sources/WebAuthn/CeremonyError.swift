/// Why a response of an authenticator does not count.
///
/// The raw value is the reason for logs; there is nothing of the response in it.
package enum CeremonyError: String, Error, Sendable, CaseIterable {
    /// The credential's JSON is not that of a public key credential.
    case malformedCredential = "malformed_credential"
    case malformedClientData = "malformed_client_data"
    case malformedAttestation = "malformed_attestation"
    case malformedAuthenticatorData = "malformed_authenticator_data"
    /// The key is of another algorithm than were offered, or is no key of its algorithm.
    case unsupportedKey = "unsupported_key"
    /// The client data are those of the other ceremony.
    case wrongType = "wrong_type"
    case wrongChallenge = "wrong_challenge"
    case wrongOrigin = "wrong_origin"
    /// The ceremony took place in a frame of a page of another origin.
    case embedded = "embedded"
    case wrongRelyingParty = "wrong_relying_party"
    case userAbsent = "user_absent"
    case userUnverified = "user_unverified"
    /// A credential that cannot be backed up says that it is, or one that could not be backed up now can, or reversely.
    case inconsistentBackup = "inconsistent_backup"
    /// Another credential than the one it is held against.
    case wrongCredential = "wrong_credential"
    /// The user handle is another one, or is missing where it is what tells who the user is.
    case wrongUser = "wrong_user"
    case invalidSignature = "invalid_signature"
    /// The signature counter has not grown: the passkey was used elsewhere, by a copy of it.
    case cloned = "cloned"
}
