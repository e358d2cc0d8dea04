import Crypto
import Encodings

/// The client's data about the ceremony (WebAuthn 5.8.1), whose hash the authenticator signs.
struct ClientData {
    enum Ceremony: String {
        case create = "webauthn.create"
        case get = "webauthn.get"
    }

    let hash: [UInt8]

    /// Parses `clientDataJSON` and verifies it (WebAuthn 7.1 steps 5 to 11, 7.2 steps 8 to 14).
    ///
    /// Unknown members are ignored, as WebAuthn 5.8.1 requires. A ceremony in a frame of another origin's page is
    /// refused, since no page of this service is meant to be embedded in another site.
    init(
        _ bytes: [UInt8],
        of ceremony: Ceremony,
        challenge: [UInt8],
        relyingParty: RelyingParty
    ) throws(CeremonyError) {
        let value: JSONValue
        do {
            value = try JSONParser.parse(Self.withoutByteOrderMark(bytes), limits: Limits.clientData)
        } catch {
            throw .malformedClientData
        }
        guard let data = value.object, let type = data["type"]?.string, let given = data["challenge"]?.string,
            let origin = data["origin"]?.string
        else { throw .malformedClientData }
        guard type.hasSameBytes(as: ceremony.rawValue) else { throw .wrongType }
        guard Base64URL.encode(challenge).utf8.isEqualInConstantTime(to: given.utf8) else { throw .wrongChallenge }
        guard relyingParty.origins.contains(where: { $0.hasSameBytes(as: origin) }) else { throw .wrongOrigin }
        switch data["crossOrigin"] {
        case nil, .bool(false): break
        case .bool(true): throw .embedded
        default: throw .malformedClientData
        }
        guard data["topOrigin"] == nil else { throw .embedded }
        hash = Array(SHA256.hash(data: bytes))
    }

    /// Removes the byte order mark from the client's JSON, if the JSON begins with one (steps 5 and 8).
    ///
    /// The hash that the authenticator signs covers all bytes, with the byte order mark.
    private static func withoutByteOrderMark(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }
}
