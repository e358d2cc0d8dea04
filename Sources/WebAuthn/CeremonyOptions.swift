package import Encodings

/// The user of a new passkey.
package struct PasskeyUser: Sendable {
    /// The user handle: 1 to 64 bytes that do not identify the user to others (WebAuthn 5.4.3).
    ///
    /// The authenticator returns the handle with assertions.
    package let handle: [UInt8]
    /// The name that the authenticator shows beside the relying party's name, such as the user's e-mail address.
    package let name: String
    package let displayName: String

    package init(handle: [UInt8], name: String, displayName: String) {
        self.handle = handle
        self.name = name
        self.displayName = displayName
    }
}

/// A passkey in the options for a client: one that may be used in an assertion, or is excluded from a registration.
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

/// The connection between a client and an authenticator (WebAuthn 5.8.4).
package enum Transport: String, Sendable, CaseIterable {
    case usb, nfc, ble
    case smartCard = "smart-card"
    case hybrid
    case `internal`
}

/// Whether the authenticator stores a discoverable credential, which is found without its id.
package enum ResidentKey: String, Sendable, CaseIterable {
    case required, preferred, discouraged
}

extension RelyingParty {
    /// Returns PublicKeyCredentialCreationOptionsJSON (WebAuthn 5.4), for `parseCreationOptionsFromJSON()`.
    ///
    /// - Parameters:
    ///   - challenge: At least 16 random bytes, for a single use.
    ///   - user: The user of the new passkey.
    ///   - excluding: The passkeys that the user has.
    ///   - residentKey: Whether the passkey must be discoverable. A login without a login name needs `required`.
    ///   - timeout: The time in seconds for which the client waits.
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

    /// Returns PublicKeyCredentialRequestOptionsJSON (WebAuthn 5.5), for `parseRequestOptionsFromJSON()`.
    ///
    /// - Parameters:
    ///   - challenge: At least 16 random bytes, for a single use.
    ///   - allowing: The passkeys that may be used; none for a login that begins without a login name.
    ///   - timeout: The time in seconds for which the client waits.
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
