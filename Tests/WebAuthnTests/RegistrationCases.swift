import TestSupport

@testable import WebAuthn

/// Registrations: valid ones, and ones with a single error.
enum RegistrationCases {
    typealias Change = @Sendable (inout SoftAuthenticator.RegistrationDraft) -> Void
    typealias Row = (name: String, expected: CeremonyError?, change: Change)

    static func all() throws -> [CeremonyCase] {
        let authenticator = try Ceremonies.authenticator()
        var cases = try SoftAuthenticator.Algorithm.allCases.map { algorithm in
            CeremonyCase(
                name: "registration: right, \(algorithm.rawValue)",
                response: try Ceremonies.authenticator(algorithm).register(challenge: Ceremonies.challenge),
                expected: nil
            )
        }
        for row in clientData + flags + objects + credentials + PublicKeyCases.rows {
            cases.append(
                CeremonyCase(
                    name: "registration: \(row.name)",
                    response: authenticator.register(challenge: Ceremonies.challenge, row.change),
                    expected: row.expected
                )
            )
        }
        cases.append(
            CeremonyCase(
                name: "registration: user not verified, which is preferred",
                response: authenticator.register(challenge: Ceremonies.challenge) {
                    $0.data.flags.remove(.userVerified)
                },
                verification: .preferred,
                expected: nil
            )
        )
        return cases
    }

    static let clientData: [Row] = [
        ("an app's origin", nil, { $0.clientData.origin = "android:apk-key-hash:c2hhMjU2" }),
        ("another app's origin", .wrongOrigin, { $0.clientData.origin = "android:apk-key-hash:c2hhMjU3" }),
        ("another host", .wrongOrigin, { $0.clientData.origin = "https://example.net" }),
        ("a sub-domain's origin", .wrongOrigin, { $0.clientData.origin = "https://a.login.example.org" }),
        ("an origin that begins alike", .wrongOrigin, { $0.clientData.origin = "https://login.example.org.evil.net" }),
        ("another scheme", .wrongOrigin, { $0.clientData.origin = "http://login.example.org" }),
        ("an origin with a port", .wrongOrigin, { $0.clientData.origin = "https://login.example.org:443" }),
        ("an origin in upper case", .wrongOrigin, { $0.clientData.origin = "https://LOGIN.example.org" }),
        ("an origin with a slash", .wrongOrigin, { $0.clientData.origin = "https://login.example.org/" }),
        ("an origin that is null", .wrongOrigin, { $0.clientData.origin = "null" }),
        ("client data of an assertion", .wrongType, { $0.clientData.type = "webauthn.get" }),
        ("another challenge", .wrongChallenge, { $0.clientData.challenge[31] ^= 1 }),
        ("a challenge that ends early", .wrongChallenge, { $0.clientData.challenge.removeLast() }),
        ("a challenge that goes on", .wrongChallenge, { $0.clientData.challenge.append(0) }),
        ("an empty challenge", .wrongChallenge, { $0.clientData.challenge = [] }),
        ("client data without crossOrigin", nil, { $0.clientData.crossOrigin = nil }),
        ("in a frame of another origin", .embedded, { $0.clientData.crossOrigin = true }),
        (
            "in a frame, with topOrigin", .embedded,
            {
                $0.clientData.crossOrigin = true
                $0.clientData.topOrigin = "https://example.com"
            }
        ),
        ("topOrigin alone", .embedded, { $0.clientData.topOrigin = "https://login.example.org" }),
        (
            "crossOrigin is a text", .malformedClientData,
            {
                $0.clientData.crossOrigin = nil
                $0.clientData.more = #","crossOrigin":"false""#
            }
        ),
        (
            "unknown members of client data", nil,
            {
                $0.clientData.more =
                    #","other_keys_can_be_added_here":"do not compare clientDataJSON","n":{"é":[1,null]}"#
            }
        ),
        ("two origins", .malformedClientData, { $0.clientData.more = #","origin":"https://login.example.org""# }),
        ("client data with something behind it", .malformedClientData, { $0.clientData.rewrite = { $0 + [0x7D] } }),
        (
            "client data with a byte order mark", nil,
            {
                $0.clientData.rewrite = { [0xEF, 0xBB, 0xBF] + $0 }
            }
        ),
        (
            "client data that are no UTF-8", .malformedClientData,
            {
                $0.clientData.more = #","x":"X""#
                $0.clientData.rewrite = { $0.map { $0 == UInt8(ascii: "X") ? 0xFF : $0 } }
            }
        ),
        ("client data that are an array", .malformedClientData, { $0.clientData.rewrite = { _ in Array("[]".utf8) } }),
        (
            "client data without challenge", .malformedClientData,
            {
                $0.clientData.rewrite = { _ in Array(#"{"type":"webauthn.create","origin":"https://example.org"}"#.utf8)
                }
            }
        ),
        ("no client data", .malformedClientData, { $0.clientData.rewrite = { _ in [] } }),
        (
            "client data that are too long", .malformedCredential,
            {
                $0.clientData.rewrite = { $0 + [UInt8](repeating: 0x20, count: 4096) }
            }
        ),
        (
            "client data that are too deep", .malformedClientData,
            {
                $0.clientData.more = #","x":[[[[[[[[[]]]]]]]]]"#
            }
        ),
    ]

    static let flags: [Row] = [
        ("another RP id", .wrongRelyingParty, { $0.data.relyingPartyID = "example.net" }),
        ("the RP id of a sub-domain", .wrongRelyingParty, { $0.data.relyingPartyID = "login.example.org" }),
        ("the RP id in upper case", .wrongRelyingParty, { $0.data.relyingPartyID = "EXAMPLE.ORG" }),
        ("user not present", .userAbsent, { $0.data.flags.remove(.userPresent) }),
        ("user not verified, which is required", .userUnverified, { $0.data.flags.remove(.userVerified) }),
        ("backup eligible", nil, { $0.data.flags.insert(.backupEligible) }),
        ("backed up", nil, { $0.data.flags.formUnion([.backupEligible, .backedUp]) }),
        ("backed up and not eligible", .inconsistentBackup, { $0.data.flags.insert(.backedUp) }),
        ("reserved flags", nil, { $0.data.flags.insert(.init(rawValue: 0x22)) }),
        ("no attested credential", .malformedAuthenticatorData, { $0.data.flags.remove(.attestedCredential) }),
        ("a large counter", nil, { $0.data.signCount = .max }),
        (
            "extensions", nil,
            {
                $0.data.flags.insert(.extensions)
                $0.data.extensions = [0xA1, 0x6B] + Array("credProtect".utf8) + [0x02]
            }
        ),
        (
            "extensions are missing", .malformedAuthenticatorData,
            {
                $0.data.flags.insert(.extensions)
                $0.data.extensions = []
            }
        ),
        (
            "extensions are an array", .malformedAuthenticatorData,
            {
                $0.data.flags.insert(.extensions)
                $0.data.extensions = [0x80]
            }
        ),
        ("extensions without their flag", .malformedAuthenticatorData, { $0.data.rewrite = { $0 + [0xA0] } }),
        (
            "something behind extensions", .malformedAuthenticatorData,
            {
                $0.data.flags.insert(.extensions)
                $0.data.extensions = [0xA0, 0x00]
            }
        ),
        ("no authenticator data", .malformedAuthenticatorData, { $0.data.rewrite = { _ in [] } }),
    ]

    static let credentials: [Row] = [
        ("another credential's id", .wrongCredential, { $0.credentialID[0] ^= 1 }),
        ("a credential id of 1023 bytes", nil, { $0.setCredentialID(.init(repeating: 7, count: 1023)) }),
        (
            "a credential id of 1024 bytes", .malformedCredential,
            {
                $0.setCredentialID(.init(repeating: 7, count: 1024))
            }
        ),
        (
            "an attested id of 1024 bytes", .malformedAuthenticatorData,
            {
                $0.data.credentialID = .init(repeating: 7, count: 1024)
            }
        ),
        ("an empty credential id", .malformedCredential, { $0.setCredentialID([]) }),
        ("an attested id that is empty", .malformedAuthenticatorData, { $0.data.credentialID = [] }),
        (
            "an attested id that is longer than the data", .malformedAuthenticatorData,
            {
                $0.data.rewrite = { Array($0[..<53]) + [0x03, 0xFF] + $0[55...] }
            }
        ),
        ("two ids", .malformedCredential, { $0.rawID = [UInt8](repeating: 7, count: 32) }),
        ("a credential of another type", .malformedCredential, { $0.type = "password" }),
        ("no list of transports", .malformedCredential, { $0.transports = #""usb""# }),
        ("no transports", nil, { $0.transports = "[]" }),
        ("unknown transports", nil, { $0.transports = #"["usb","telepathy"]"# }),
        (
            "too many transports", .malformedCredential,
            {
                $0.transports = "[" + Array(repeating: #""usb""#, count: 17).joined(separator: ",") + "]"
            }
        ),
        ("credProps of an unknown form", nil, { $0.extensionResults = #"{"credProps":7}"# }),
        ("no outputs of extensions", .malformedCredential, { $0.extensionResults = "null" }),
    ]
}

extension SoftAuthenticator.RegistrationDraft {
    /// Sets the credential id in both of its places.
    mutating func setCredentialID(_ id: [UInt8]) {
        credentialID = id
        data.credentialID = id
    }
}
