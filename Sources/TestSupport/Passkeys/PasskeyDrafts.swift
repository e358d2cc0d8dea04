import Crypto
import FoundationEssentials

extension SoftAuthenticator {
    /// The client data of a WebAuthn response (`clientDataJSON`) before encoding, for a test to change.
    ///
    /// A member that is `nil` is omitted.
    package struct ClientDataDraft: Sendable {
        package var type: String
        package var challenge: [UInt8]
        package var origin: String
        package var crossOrigin: Bool? = false
        package var topOrigin: String?
        /// Text that is inserted before the final `}` of the client data: JSON members, each with a comma before it.
        package var more = ""
        /// Changes the encoded client data before the authenticator signs its hash.
        package var rewrite: @Sendable ([UInt8]) -> [UInt8] = { $0 }

        init(type: String, challenge: [UInt8], origin: String) {
            self.type = type
            self.challenge = challenge
            self.origin = origin
        }

        var bytes: [UInt8] {
            var text = #"{"type":"\#(type)","challenge":"\#(base64url(challenge))","origin":"\#(origin)""#
            if let crossOrigin { text += #","crossOrigin":\#(crossOrigin)"# }
            if let topOrigin { text += #","topOrigin":"\#(topOrigin)""# }
            return rewrite(Array((text + more + "}").utf8))
        }
    }

    /// The authenticator data of a WebAuthn response before encoding, for a test to change.
    ///
    /// The flags decide whether the encoded bytes contain the credential and the extensions.
    package struct AuthenticatorDataDraft: Sendable {
        package var relyingPartyID: String
        package var flags: Flags
        package var signCount: UInt32
        package var aaguid = [UInt8](repeating: 0, count: 16)
        package var credentialID: [UInt8]
        /// The public key of the credential as a COSE key.
        package var publicKey: [UInt8]
        /// The outputs of the authenticator's extensions: a CBOR map.
        package var extensions: [UInt8] = [0xA0]
        /// Changes the encoded authenticator data before the authenticator signs it.
        package var rewrite: @Sendable ([UInt8]) -> [UInt8] = { $0 }

        init(relyingPartyID: String, flags: Flags, signCount: UInt32, credentialID: [UInt8], publicKey: [UInt8]) {
            self.relyingPartyID = relyingPartyID
            self.flags = flags
            self.signCount = signCount
            self.credentialID = credentialID
            self.publicKey = publicKey
        }

        package var bytes: [UInt8] {
            var bytes = Array(SHA256.hash(data: Array(relyingPartyID.utf8))) + [flags.rawValue]
            bytes += (0..<4).reversed().map { UInt8(truncatingIfNeeded: signCount >> ($0 * 8)) }
            if flags.contains(.attestedCredential) {
                bytes += aaguid + [UInt8(credentialID.count >> 8), UInt8(credentialID.count & 0xFF)]
                bytes += credentialID + publicKey
            }
            if flags.contains(.extensions) { bytes += extensions }
            return rewrite(bytes)
        }
    }

    package struct RegistrationDraft: Sendable {
        package var credentialID: [UInt8]
        /// The value of the member `rawId`; `nil` if it is the same as `id`.
        package var rawID: [UInt8]?
        package var type = "public-key"
        package var clientData: ClientDataDraft
        package var data: AuthenticatorDataDraft
        package var format = "none"
        /// The attestation statement in CBOR.
        package var statement: [UInt8] = [0xA0]
        /// The transports as JSON.
        package var transports = #"["internal","hybrid"]"#
        /// The outputs of client extensions as JSON.
        package var extensionResults = #"{"credProps":{"rk":true}}"#
        /// Changes the encoded attestation object before the response contains it.
        package var rewrite: @Sendable ([UInt8]) -> [UInt8] = { $0 }

        var json: String {
            let object =
                [0xA3] + CBORText.text("fmt") + CBORText.text(format) + CBORText.text("attStmt") + statement
                + CBORText.text("authData") + CBORText.bytes(data.bytes)
            return """
                {"id":"\(base64url(credentialID))","rawId":"\(base64url(rawID ?? credentialID))",\
                "type":"\(type)","authenticatorAttachment":"platform",\
                "clientExtensionResults":\(extensionResults),\
                "response":{"clientDataJSON":"\(base64url(clientData.bytes))",\
                "attestationObject":"\(base64url(rewrite(object)))","transports":\(transports)}}
                """
        }
    }

    package struct AssertionDraft: Sendable {
        package var credentialID: [UInt8]
        package var type = "public-key"
        package var clientData: ClientDataDraft
        package var data: AuthenticatorDataDraft
        package var userHandle: [UInt8]?
        /// Changes the message that the authenticator signs: the authenticator data and the hash of the client data.
        ///
        /// The data in the response stays as it is. So the signature of a changed message does not fit the response.
        package var rewriteSigned: @Sendable ([UInt8]) -> [UInt8] = { $0 }
        /// Changes the signature before the response contains it.
        package var rewriteSignature: @Sendable ([UInt8]) -> [UInt8] = { $0 }

        func json(signedBy key: Key) throws -> String {
            let id = base64url(credentialID)
            let clientData = clientData.bytes
            let data = data.bytes
            let message = rewriteSigned(data + Array(SHA256.hash(data: clientData)))
            let signature = rewriteSignature(try key.signature(of: message))
            let handle = userHandle.map { #","userHandle":"\#(base64url($0))""# } ?? ""
            return """
                {"id":"\(id)","rawId":"\(id)","type":"\(type)","clientExtensionResults":{},\
                "response":{"clientDataJSON":"\(base64url(clientData))",\
                "authenticatorData":"\(base64url(data))","signature":"\(base64url(signature))"\(handle)}}
                """
        }
    }
}

/// Encodes byte strings and text strings in CBOR.
package enum CBORText {
    package static func bytes(_ bytes: [UInt8]) -> [UInt8] { head(0x40, bytes.count) + bytes }

    package static func text(_ text: String) -> [UInt8] { head(0x60, text.utf8.count) + Array(text.utf8) }

    /// Returns the first bytes of a CBOR item, which contain its major type and its length.
    ///
    /// The length must be less than 65536.
    private static func head(_ kind: UInt8, _ length: Int) -> [UInt8] {
        switch length {
        case ..<24: [kind | UInt8(length)]
        case ..<256: [kind | 24, UInt8(length)]
        default: [kind | 25, UInt8(length >> 8), UInt8(length & 0xFF)]
        }
    }
}

private func base64url(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString()
        .map { character -> String in
            switch character {
            case "+": "-"
            case "/": "_"
            case "=": ""
            default: String(character)
            }
        }
        .joined()
}
