package import Vocabulary

/// For whom a passkey is made.
package struct PasskeyUser: Sendable {
    /// 1 to 64 bytes that tell nobody who it is (WebAuthn 5.4.3), and that come back with assertions.
    package let handle: [UInt8]
    /// What the authenticator shows beside the relying party's name, such as an address.
    package let name: String
    package let displayName: String

    package init(handle: [UInt8], name: String, displayName: String) {
        self.handle = handle
        self.name = name
        self.displayName = displayName
    }
}

/// A passkey that is to be used, or not to be made once more.
package struct PasskeyDescriptor: Sendable {
    package let id: [UInt8]
    package let transports: [Transport]

    package init(id: [UInt8], transports: [Transport]) {
        self.id = id
        self.transports = transports
    }

    fileprivate var json: JSONValue {
        .object([
            "type": .string("public-key"), "id": .string(Base64URL.encode(id)),
            "transports": .array(transports.map { .string($0.rawValue) }),
        ])
    }
}

/// How a client reaches an authenticator (WebAuthn 5.8.4).
package enum Transport: String, Sendable, CaseIterable {
    case usb, nfc, ble
    case smartCard = "smart-card"
    case hybrid
    case `internal`
}

/// Whether the authenticator keeps the credential, so that it is found without its id.
package enum ResidentKey: String, Sendable, CaseIterable {
    case required, preferred, discouraged
}

extension RelyingParty {
    /// PublicKeyCredentialCreationOptionsJSON (WebAuthn 5.4), for `parseCreationOptionsFromJSON()`.
    ///
    /// - Parameters:
    ///   - challenge: At least 16 random bytes that count once.
    ///   - user: For whom the passkey is made.
    ///   - excluding: The passkeys that the user has.
    ///   - residentKey: Required for a login that begins without a name.
    ///   - timeout: For how many seconds the client waits.
    /// - Returns: The options.
    package func creationOptions(
        challenge: [UInt8],
        user: PasskeyUser,
        excluding: [PasskeyDescriptor],
        residentKey: ResidentKey,
        timeout: Int64
    ) -> JSONObject {
        [
            "rp": .object(["id": .string(id), "name": .string(name)]),
            "user": .object([
                "id": .string(Base64URL.encode(user.handle)), "name": .string(user.name),
                "displayName": .string(user.displayName),
            ]),
            "challenge": .string(Base64URL.encode(challenge)),
            "pubKeyCredParams": .array(
                SignatureAlgorithm.allCases.map { algorithm in
                    .object(["type": .string("public-key"), "alg": .integer(algorithm.rawValue)])
                }
            ),
            "timeout": .integer(timeout * 1000),
            "excludeCredentials": .array(excluding.map(\.json)),
            "authenticatorSelection": .object([
                "residentKey": .string(residentKey.rawValue),
                "requireResidentKey": .bool(residentKey == .required),
                "userVerification": .string(userVerification.rawValue),
            ]),
            "attestation": .string("none"),
            "extensions": .object(["credProps": .bool(true)]),
        ]
    }

    /// PublicKeyCredentialRequestOptionsJSON (WebAuthn 5.5), for `parseRequestOptionsFromJSON()`.
    ///
    /// - Parameters:
    ///   - challenge: At least 16 random bytes that count once.
    ///   - allowing: The passkeys that may be used; none for a login that begins without a name.
    ///   - timeout: For how many seconds the client waits.
    /// - Returns: The options.
    package func requestOptions(
        challenge: [UInt8],
        allowing: [PasskeyDescriptor],
        timeout: Int64
    ) -> JSONObject {
        [
            "challenge": .string(Base64URL.encode(challenge)),
            "rpId": .string(id),
            "timeout": .integer(timeout * 1000),
            "allowCredentials": .array(allowing.map(\.json)),
            "userVerification": .string(userVerification.rawValue),
        ]
    }
}
