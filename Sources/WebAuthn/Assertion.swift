package import Vocabulary

/// An AuthenticationResponseJSON, taken apart and not yet judged: it says which passkey it is to be held against.
package struct AssertionResponse: Sendable {
    package let credentialID: [UInt8]
    /// The handle that the authenticator keeps with a discoverable passkey; nil where it gives none, or an empty one.
    package let userHandle: [UInt8]?
    let clientData: [UInt8]
    let authenticatorData: [UInt8]
    let signature: [UInt8]

    /// Takes an assertion apart.
    ///
    /// - Parameter credential: What the client's `toJSON()` gave.
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

/// A passkey as it is kept, as far as an assertion is held against it.
package struct Passkey: Sendable {
    package let credentialID: [UInt8]
    /// The COSE key, as `CredentialPublicKey.bytes` has it.
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

/// What is true after an assertion: what is kept anew of the passkey.
package struct VerifiedAssertion: Sendable {
    /// The counter from now on.
    ///
    /// It is written only where the one that it was held against still stands: of two assertions at once, one counts.
    package let signCount: UInt32
    package let isUserVerified: Bool
    package let isBackedUp: Bool
}

extension RelyingParty {
    /// Judges an assertion (WebAuthn 7.2).
    ///
    /// - Parameters:
    ///   - response: The assertion. Whether its credential was among those that were allowed (step 5) is found out by
    ///     whoever has looked up the passkey.
    ///   - challenge: That of the options. Whoever calls this has made sure that it was not used before.
    ///   - passkey: What is kept under the response's credential id.
    ///   - isUserKnown: Whether the user was known before the ceremony, as at a second factor; else the response has to
    ///     bring the user's handle (step 6).
    /// - Returns: What to keep of it.
    /// - Throws: The first step that is not passed.
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
        // Passkeys that are synchronized have no counter and always say zero.
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
