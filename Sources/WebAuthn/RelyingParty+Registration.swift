import Crypto
package import Encodings

/// A newly registered passkey: the values to store.
package struct RegisteredPasskey: Sendable {
    package let credentialID: [UInt8]
    package let publicKey: CredentialPublicKey
    package let signCount: UInt32
    package let isUserVerified: Bool
    /// Whether the passkey can be copied to other devices or to a backup, as the authenticator reports.
    ///
    /// The value never changes.
    package let isBackupEligible: Bool
    package let isBackedUp: Bool
    /// The model of the authenticator, as the authenticator claims, 16 bytes; all zeros for no claim.
    package let aaguid: [UInt8]
    /// The transports that the client lists, without unknown ones, in the order of the cases of `Transport`.
    package let transports: [Transport]
    /// Whether the passkey is discoverable (found without its id); nil when the client does not tell.
    package let isDiscoverable: Bool?
}

extension RelyingParty {
    /// Verifies a RegistrationResponseJSON (WebAuthn 7.1).
    ///
    /// When the caller stores the credential, it must check whether a user already has this credential (step 26).
    ///
    /// - Parameters:
    ///   - credential: The JSON of the client's `toJSON()`.
    ///   - challenge: The challenge that the client received with the options. The caller ensures that it was not used
    ///     before.
    /// - Returns: The values to store.
    /// - Throws: The error of the first step that fails.
    package func register(
        _ credential: JSONValue,
        challenge: [UInt8]
    ) throws(CeremonyError) -> RegisteredPasskey {
        let json = try CredentialJSON(credential)
        let clientData = try json.bytes("clientDataJSON", atMost: Limits.clientData.bytes)
        let attestation = try json.bytes("attestationObject", atMost: Limits.attestationObject)
        _ = try ClientData(clientData, of: .create, challenge: challenge, relyingParty: self)
        let data = try AuthenticatorData(Self.authenticatorData(of: attestation))
        try check(data)
        guard let attested = data.credential else { throw .malformedAuthenticatorData }
        guard attested.id == json.id else { throw .wrongCredential }
        return RegisteredPasskey(
            credentialID: attested.id,
            publicKey: attested.publicKey,
            signCount: data.signCount,
            isUserVerified: data.flags.contains(.userVerified),
            isBackupEligible: data.flags.contains(.backupEligible),
            isBackedUp: data.flags.contains(.backedUp),
            aaguid: attested.aaguid,
            transports: try Self.transports(json.response),
            isDiscoverable: json.extensions["credProps"]?.object?["rk"]?.bool
        )
    }

    /// Verifies the authenticator data of a registration or an assertion: the hash of the RP id, and the flags.
    ///
    /// See WebAuthn 7.1 steps 14 to 17, 7.2 steps 15 to 18.
    func check(_ data: AuthenticatorData) throws(CeremonyError) {
        guard data.relyingPartyHash.elementsEqual(SHA256.hash(data: Array(id.utf8))) else { throw .wrongRelyingParty }
        guard data.flags.contains(.userPresent) else { throw .userAbsent }
        guard userVerification != .required || data.flags.contains(.userVerified) else { throw .userUnverified }
        guard data.flags.contains(.backupEligible) || !data.flags.contains(.backedUp) else {
            throw .inconsistentBackup
        }
    }

    /// Returns the authenticator data of an attestation object (WebAuthn 6.5.4).
    ///
    /// The object is a map of `fmt`, `attStmt` and `authData`, each once. The client makes the object, and clients
    /// write the members in different orders. The statement of the format `none` must be empty. Any other statement is
    /// skipped, since the service does not trust attestation.
    static func authenticatorData(of object: [UInt8]) throws(CeremonyError) -> ArraySlice<UInt8> {
        var reader = CBORReader(object[...])
        do {
            var format: String?
            var statement: ArraySlice<UInt8>?
            var data: ArraySlice<UInt8>?
            guard try reader.map() == 3 else { throw CBORError() }
            for _ in 0..<3 {
                switch try reader.text() {
                case "fmt": format = try reader.text()
                case "attStmt":
                    let start = reader.remainder
                    try reader.skip()
                    statement = start.prefix(start.count - reader.remainder.count)
                case "authData": data = try reader.bytes()
                default: throw CBORError()
                }
            }
            // With three members, none is missing only if each occurred once.
            guard reader.isAtEnd, let format, let statement, let data, data.count <= Limits.authenticatorData,
                format != "none" || statement.elementsEqual([0xA0])
            else { throw CBORError() }
            return data
        } catch {
            throw .malformedAttestation
        }
    }

    /// Returns the transports that the client lists; unknown words are ignored.
    private static func transports(_ response: JSONObject) throws(CeremonyError) -> [Transport] {
        guard let value = response.present("transports") else { return [] }
        guard let list = value.array, list.count <= Limits.transports else { throw .malformedCredential }
        return Transport.allCases.filter { list.contains(.string($0.rawValue)) }
    }
}
