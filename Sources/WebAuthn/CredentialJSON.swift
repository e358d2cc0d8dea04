import Encodings

/// The common members of RegistrationResponseJSON and AuthenticationResponseJSON (WebAuthn 5.1.1, `toJSON()`).
struct CredentialJSON {
    let id: [UInt8]
    let response: JSONObject
    let extensions: JSONObject

    init(_ credential: JSONValue) throws(CeremonyError) {
        guard let object = credential.object, let type = object["type"]?.string, type.hasSameBytes(as: "public-key"),
            let id = object["id"]?.string, let rawID = object["rawId"]?.string, id.hasSameBytes(as: rawID),
            let response = object["response"]?.object,
            let extensions = object["clientExtensionResults"].map(\.object) ?? JSONObject()
        else { throw .malformedCredential }
        self.response = response
        self.extensions = extensions
        self.id = try Self.bytes(rawID, atMost: Limits.credentialID)
        guard !self.id.isEmpty else { throw .malformedCredential }
    }

    /// Decodes a base64url member of the authenticator's response; throws if the result would have more than `limit`
    /// bytes.
    func bytes(_ name: String, atMost limit: Int) throws(CeremonyError) -> [UInt8] {
        guard let text = response[name]?.string else { throw .malformedCredential }
        return try Self.bytes(text, atMost: limit)
    }

    /// Decodes a base64url text; throws if the result would have more than `limit` bytes.
    static func bytes(_ text: String, atMost limit: Int) throws(CeremonyError) -> [UInt8] {
        guard text.utf8.count <= (limit * 4 + 2) / 3, let bytes = Base64URL.decode(text.utf8) else {
            throw .malformedCredential
        }
        return bytes
    }
}
