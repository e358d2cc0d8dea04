package import Domain
import Encodings
import Factors
import Providers
import Secrets
package import Store

/// The client of a login; only the same client can finish a pending login.
package struct LoginClient: Sendable {
    /// The label of the API key in the client's requests; nil for requests identified by host.
    package let keyLabel: String?
    /// The token of a trusted device.
    package let trustedDevice: Secret?

    package init(keyLabel: String?, trustedDevice: Secret?) {
        self.keyLabel = keyLabel
        self.trustedDevice = trustedDevice
    }

    /// SHA-256 of the token of a trusted device.
    package var deviceHash: [UInt8]? { trustedDevice.flatMap { OneTimeToken(received: $0.reveal()) }?.hash }
}

/// The first factor of a login, before the second factor.
package enum FirstFactor: Sendable {
    /// A verified login by a provider.
    case provider(VouchedLogin, guest: GuestClaim?)
    /// A password: the stored value against which the sent password was checked.
    case password(StoredPassword)
}

/// An operation that waits for a second factor, encrypted in the hands of its client: the service stores nothing.
struct PendingSignIn: SealedInTransit {
    enum Purpose: Sendable {
        /// A login.
        case signIn(FirstFactor)
        /// A login by a passkey, of any user.
        case passkey
        /// A step-up of a session: SHA-256 of its token.
        case reauthentication([UInt8])
        /// A new password by a mailed link: SHA-256 of the link's token.
        case link([UInt8])
    }

    let occasion: FactorOccasion
    let purpose: Purpose
    /// The id of the user, or of the user whom the login will create; nil for a passkey, which names the user.
    let user: ObjectID?
    /// Whether the user exists already.
    let isUserThere: Bool
    /// Whether the user has no factor and must enrol one.
    let enrols: Bool
    /// The label of the API key of the client that began the operation.
    let keyLabel: String?
    /// The client's session before the login.
    let previousToken: SessionToken?
    /// The database's time at which the login became pending.
    let begunAt: StoreMoment
    let endsAt: Int64

    static let keyName = "federation: pending sign-ins"

    /// Seconds in which a factor may be shown.
    static let seconds = FactorChecks.seconds
    /// Seconds in which a user without a factor may enrol one; longer, since an app may have to be installed.
    static let enrolmentSeconds = FactorEnrolment.seconds

    private enum Key {
        static let (occasion, user, isThere, enrols) = ("occasion", "user", "there", "enrols")
        static let (keyLabel, previous, end) = ("key", "previous", "end")
        static let (provider, vouched, guest, guestToken) = ("provider", "vouched", "guest", "guestToken")
        static let (hash, hashKey, login, session) = ("hash", "hashKey", "login", "session")
        static let (link, passkey) = ("link", "passkey")
    }

    init(
        occasion: FactorOccasion,
        purpose: Purpose,
        user: ObjectID?,
        isUserThere: Bool,
        enrols: Bool,
        keyLabel: String?,
        previousToken: SessionToken?,
        begunAt: StoreMoment,
        endsAt: Int64
    ) {
        self.occasion = occasion
        self.purpose = purpose
        self.user = user
        self.isUserThere = isUserThere
        self.enrols = enrols
        self.keyLabel = keyLabel
        self.previousToken = previousToken
        self.begunAt = begunAt
        self.endsAt = endsAt
    }

    var text: Secret {
        var object: JSONObject = [
            Key.occasion: .string(Base64URL.encode(occasion.bytes)), Key.isThere: .bool(isUserThere),
            Key.enrols: .bool(enrols), Key.end: .integer(endsAt),
        ]
        begunAt.add(to: &object)
        if let user { object.append(Key.user, .string(user.description)) }
        if let keyLabel { object.append(Key.keyLabel, .string(keyLabel)) }
        if let previousToken { object.append(Key.previous, .string(previousToken.secret.reveal())) }
        switch purpose {
        case .signIn(.provider(let login, let guest)):
            object.append(Key.provider, .string(login.result.person.identity.provider.text))
            object.append(Key.vouched, .string(login.text.reveal()))
            if let guest {
                object.append(Key.guest, .string(guest.id.description))
                object.append(Key.guestToken, .string(guest.token.secret.reveal()))
            }
        case .signIn(.password(let password)):
            object.append(Key.hash, .string(Base64URL.encode(password.hash.bytes)))
            object.append(Key.hashKey, .string(password.hash.keyID))
            object.append(Key.login, .string(password.login))
        case .reauthentication(let tokenHash): object.append(Key.session, .string(Base64URL.encode(tokenHash)))
        case .link(let tokenHash): object.append(Key.link, .string(Base64URL.encode(tokenHash)))
        case .passkey: object.append(Key.passkey, .bool(true))
        }
        return Secret(JSONValue.object(object).text)
    }

    init?(_ object: JSONObject) {
        func bytes(_ key: String) -> [UInt8]? { object[key]?.string.flatMap { Base64URL.decode($0.utf8) } }
        func token(_ key: String) -> SessionToken? { object[key]?.string.flatMap { SessionToken(received: $0) } }
        func id(_ key: String) -> ObjectID? { object[key]?.string.flatMap { ObjectID($0) } }
        guard let occasion = bytes(Key.occasion), let isThere = object[Key.isThere]?.bool,
            let enrols = object[Key.enrols]?.bool, let begun = StoreMoment(in: object),
            let end = object[Key.end]?.integer
        else { return nil }
        if let vouched = object[Key.vouched]?.string {
            guard let provider = object[Key.provider]?.string.flatMap({ ProviderName($0) }),
                let login = VouchedLogin(Secret(vouched), provider: provider)
            else { return nil }
            let guest = id(Key.guest).flatMap { id in token(Key.guestToken).map { GuestClaim(id: id, token: $0) } }
            purpose = .signIn(.provider(login, guest: guest))
        } else if let hash = bytes(Key.hash) {
            guard let key = object[Key.hashKey]?.string, let login = object[Key.login]?.string,
                let user = id(Key.user)
            else { return nil }
            let sealed = SealedSecret(bytes: hash, keyID: key)
            purpose = .signIn(.password(StoredPassword(objectID: user, login: login, hash: sealed)))
        } else if let session = bytes(Key.session) {
            purpose = .reauthentication(session)
        } else if let link = bytes(Key.link) {
            purpose = .link(link)
        } else if object[Key.passkey]?.bool == true {
            purpose = .passkey
        } else {
            return nil
        }
        self.occasion = FactorOccasion(bytes: occasion)
        user = id(Key.user)
        isUserThere = isThere
        self.enrols = enrols
        keyLabel = object[Key.keyLabel]?.string
        previousToken = token(Key.previous)
        begunAt = begun
        endsAt = end
    }
}

// Encoding of the time in an encrypted pending login. Instances of the former version read and write only the seconds;
// they treat a change within the same second as a later one.
extension StoreMoment {
    private static let (begun, fraction) = ("begun", "begunMicroseconds")

    func add(to object: inout JSONObject) {
        object.append(Self.begun, .integer(seconds))
        object.append(Self.fraction, .integer(microseconds))
    }

    init?(in object: JSONObject) {
        guard let seconds = object[Self.begun]?.integer else { return nil }
        self.init(seconds: seconds, microseconds: object[Self.fraction]?.integer ?? 0)
    }
}
