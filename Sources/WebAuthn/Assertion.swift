package import Encodings

/// A parsed AuthenticationResponseJSON, not verified yet.
///
/// The caller looks up the passkey by `credentialID`, and verifies the response with it.
package struct AssertionResponse: Sendable {
    package let credentialID: [UInt8]
    /// The user handle that the authenticator stores with a discoverable passkey; nil when it is absent or empty.
    package let userHandle: [UInt8]?
    let clientData: [UInt8]
    let authenticatorData: [UInt8]
    let signature: [UInt8]

    /// Parses an assertion.
    ///
    /// - Parameter credential: The JSON of the client's `toJSON()`.
    /// - Throws: `malformedCredential`.
    package init(_ credential: JSONValue) throws(CeremonyError) {
        let json = try CredentialJSON(credential)
        credentialID = json.id
        clientData = try json.bytes("clientDataJSON", atMost: Limits.clientData.bytes)
        authenticatorData = try json.bytes("authenticatorData", atMost: Limits.authenticatorData)
        signature = try json.bytes("signature", atMost: Limits.signature)
        let handle =
            json.response.present("userHandle") == nil ? [] : try json.bytes("userHandle", atMost: Limits.userHandle)
        userHandle = handle.isEmpty ? nil : handle
    }
}

/// The stored values of a passkey that are needed to verify an assertion.
package struct Passkey: Sendable {
    package let credentialID: [UInt8]
    /// The passkey's public key: a COSE key in the form of `CredentialPublicKey.bytes`.
    package let publicKey: [UInt8]
    package let signCount: UInt32
    package let isBackupEligible: Bool
    package let userHandle: [UInt8]

    package init(
        credentialID: [UInt8],
        publicKey: [UInt8],
        signCount: UInt32,
        isBackupEligible: Bool,
        userHandle: [UInt8]
    ) {
        self.credentialID = credentialID
        self.publicKey = publicKey
        self.signCount = signCount
        self.isBackupEligible = isBackupEligible
        self.userHandle = userHandle
    }
}

/// The result of a verified assertion: the new values to store with the passkey.
package struct VerifiedAssertion: Sendable {
    /// The new signature counter.
    ///
    /// The caller must store it only if the stored counter has not changed since the `Passkey` was read. Then only one
    /// of two concurrent assertions is accepted.
    package let signCount: UInt32
    package let isUserVerified: Bool
    package let isBackedUp: Bool
}

extension RelyingParty {
    /// Verifies an assertion (WebAuthn 7.2).
    ///
    /// - Parameters:
    ///   - response: The assertion. The caller looks up the passkey, and must check that the passkey was among the
    ///     allowed ones (step 5).
    ///   - challenge: The challenge that the client received with the options. The caller ensures that it was not used
    ///     before.
    ///   - passkey: The passkey stored under the response's credential id.
    ///   - isUserKnown: Whether the user was known before the ceremony, as at a second factor; otherwise the response
    ///     must have the user handle (step 6).
    /// - Returns: The values to store.
    /// - Throws: The error of the first step that fails.
    package func verify(
        _ response: AssertionResponse,
        challenge: [UInt8],
        passkey: Passkey,
        isUserKnown: Bool
    ) throws(CeremonyError) -> VerifiedAssertion {
        guard response.credentialID == passkey.credentialID else { throw .wrongCredential }
        guard response.userHandle.map({ $0 == passkey.userHandle }) ?? isUserKnown else { throw .wrongUser }
        let clientData = try ClientData(response.clientData, of: .get, challenge: challenge, relyingParty: self)
        let data = try AuthenticatorData(response.authenticatorData[...])
        guard data.credential == nil else { throw .malformedAuthenticatorData }
        try check(data)
        guard data.flags.contains(.backupEligible) == passkey.isBackupEligible else { throw .inconsistentBackup }
        let key = try CredentialPublicKey(passkey.publicKey)
        guard key.hasSigned(response.authenticatorData + clientData.hash, signature: response.signature) else {
            throw .invalidSignature
        }
        // Synchronized passkeys have no counter and always send zero.
        guard data.signCount > passkey.signCount || (data.signCount, passkey.signCount) == (0, 0) else {
            throw .cloned
        }
        return VerifiedAssertion(
            signCount: data.signCount,
            isUserVerified: data.flags.contains(.userVerified),
            isBackedUp: data.flags.contains(.backedUp)
        )
    }
}
