/// The data that an authenticator signs (WebAuthn 6.1).
///
/// The data consist of the hash of the RP id, the flags, the signature counter, and in a registration the new
/// credential.
struct AuthenticatorData {
    struct Flags: OptionSet {
        let rawValue: UInt8

        static let userPresent = Flags(rawValue: 1 << 0)
        static let userVerified = Flags(rawValue: 1 << 2)
        static let backupEligible = Flags(rawValue: 1 << 3)
        static let backedUp = Flags(rawValue: 1 << 4)
        static let attestedCredential = Flags(rawValue: 1 << 6)
        static let extensions = Flags(rawValue: 1 << 7)
    }

    /// A new credential as its authenticator attests it (WebAuthn 6.5.1).
    struct AttestedCredential {
        /// The model of the authenticator, as the authenticator claims.
        let aaguid: [UInt8]
        let id: [UInt8]
        let publicKey: CredentialPublicKey
    }

    let relyingPartyHash: ArraySlice<UInt8>
    let flags: Flags
    let signCount: UInt32
    let credential: AttestedCredential?

    /// Parses authenticator data, which must fill all of the bytes.
    ///
    /// - Throws: `malformedAuthenticatorData`, `unsupportedKey`.
    init(_ bytes: ArraySlice<UInt8>) throws(CeremonyError) {
        guard bytes.count >= 37 else { throw .malformedAuthenticatorData }
        var rest = bytes
        relyingPartyHash = rest.prefix(32)
        flags = Flags(rawValue: rest[rest.startIndex + 32])
        signCount = rest.dropFirst(33).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        rest = rest.dropFirst(37)
        credential = flags.contains(.attestedCredential) ? try Self.attestedCredential(&rest) : nil
        if flags.contains(.extensions) { try Self.skipExtensions(&rest) }
        guard rest.isEmpty else { throw .malformedAuthenticatorData }
    }

    private static func attestedCredential(
        _ rest: inout ArraySlice<UInt8>
    ) throws(CeremonyError) -> AttestedCredential {
        guard rest.count >= 18 else { throw .malformedAuthenticatorData }
        let aaguid = Array(rest.prefix(16))
        let length = rest.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(18)
        guard (1...Limits.credentialID).contains(length), rest.count >= length else {
            throw .malformedAuthenticatorData
        }
        let id = Array(rest.prefix(length))
        var reader = CBORReader(rest.dropFirst(length))
        let members: COSEMembers
        do {
            members = try COSEMembers(&reader)
        } catch {
            throw .unsupportedKey
        }
        guard let publicKey = CredentialPublicKey(members) else { throw .unsupportedKey }
        rest = reader.remainder
        return AttestedCredential(aaguid: aaguid, id: id, publicKey: publicKey)
    }

    /// Skips the extension outputs, which form a map (WebAuthn 9); the service reads none of them.
    private static func skipExtensions(_ rest: inout ArraySlice<UInt8>) throws(CeremonyError) {
        var reader = CBORReader(rest)
        guard reader.isAtMap else { throw .malformedAuthenticatorData }
        do {
            try reader.skip()
        } catch {
            throw .malformedAuthenticatorData
        }
        rest = reader.remainder
    }
}
