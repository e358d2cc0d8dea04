import Domain
import Encodings
import Secrets

/// A factor whose enrolment its user has not confirmed yet.
///
/// No draft is stored: the client gets the encrypted draft as the factor's id, and sends it back to confirm the factor.
struct FactorDraft: EncryptedInTransit {
    /// The id of the future factor.
    let id: ObjectID
    let kind: FactorKind
    /// The id of the future factor's user.
    let user: ObjectID
    /// The hash of the session or pending login that began the enrolment.
    ///
    /// No other session or login can confirm the factor.
    let owner: [UInt8]
    let label: String?
    /// The seed of an authenticator app, or the target of codes; nil for a passkey.
    let secret: Secret?
    /// The random bytes of this enrolment.
    ///
    /// The service derives the one-time code or the passkey challenge from them.
    let occasion: FactorOccasion
    let endsAt: Int64

    static let keyName = "federation: factors to be confirmed"

    private enum Key {
        static let (id, kind, user, owner, label) = ("id", "kind", "user", "owner", "label")
        static let (secret, occasion, end) = ("secret", "occasion", "end")
    }

    var text: Secret {
        var object: JSONObject = [
            Key.id: .string(id.description), Key.kind: .string(kind.rawValue), Key.user: .string(user.description),
            Key.owner: .string(Base64URL.encode(owner)), Key.occasion: .string(Base64URL.encode(occasion.bytes)),
            Key.end: .integer(endsAt),
        ]
        if let label { object.append(Key.label, .string(label)) }
        if let secret { object.append(Key.secret, .string(secret.reveal())) }
        return Secret(JSONValue.object(object).text)
    }

    init(
        id: ObjectID,
        kind: FactorKind,
        user: ObjectID,
        owner: [UInt8],
        label: String?,
        secret: Secret?,
        occasion: FactorOccasion,
        endsAt: Int64
    ) {
        self.id = id
        self.kind = kind
        self.user = user
        self.owner = owner
        self.label = label
        self.secret = secret
        self.occasion = occasion
        self.endsAt = endsAt
    }

    init?(_ object: JSONObject) {
        guard let id = object[Key.id]?.string.flatMap({ ObjectID($0) }),
            let kind = object[Key.kind]?.string.flatMap(FactorKind.init),
            let user = object[Key.user]?.string.flatMap({ ObjectID($0) }),
            let owner = object[Key.owner]?.string.flatMap({ Base64URL.decode($0.utf8) }),
            let occasion = object[Key.occasion]?.string.flatMap({ Base64URL.decode($0.utf8) }),
            let end = object[Key.end]?.integer
        else { return nil }
        self.id = id
        self.kind = kind
        self.user = user
        self.owner = owner
        label = object[Key.label]?.string
        secret = object[Key.secret]?.string.map(Secret.init)
        self.occasion = FactorOccasion(bytes: occasion)
        endsAt = end
    }
}
