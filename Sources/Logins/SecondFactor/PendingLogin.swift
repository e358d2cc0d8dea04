package import Domain
import Encodings
import Factors
import Providers
import Secrets
package import Store

/// The client of a login.
///
/// If the login becomes pending, only this client can finish it.
package struct LoginClient: Sendable {
    /// The label of the API key in the client's requests; nil if the host name identifies the application instead.
    package let keyLabel: String?
    /// The token that shows that the user trusts the device.
    package let trustedDevice: Secret?
    /// Whether the client continues its session by refresh tokens, so that a login opens a family of them.
    ///
    /// Such a client sends no `Idempotency-Key`: the repeated login would open another family.
    package let usesRefreshTokens: Bool

    package init(keyLabel: String?, trustedDevice: Secret?, usesRefreshTokens: Bool = false) {
        self.keyLabel = keyLabel
        self.trustedDevice = trustedDevice
        self.usesRefreshTokens = usesRefreshTokens
    }

    /// The SHA-256 of the token in `trustedDevice`.
    package var deviceHash: [UInt8]? { trustedDevice.flatMap { OneTimeToken(received: $0.reveal()) }?.hash }
}

/// The first factor of a login that needs a second one.
package enum FirstFactor: Sendable {
    /// A verified login by a provider.
    case provider(VerifiedLogin, joining: JoinedUser?)
    /// A right password. The value is the stored password hash that the password was compared with.
    case password(StoredPassword)
    /// A link that was mailed to the login name. The value is the stored password at the time when the link was opened.
    case mailedLink(StoredPassword)
}

/// An operation that waits for a step of the user, such as a login that waits for a second factor.
///
/// The service does not store the operation: the client gets it in encrypted form, and sends it back with that step.
struct PendingLogin: EncryptedInTransit {
    enum Purpose: Sendable {
        /// A login that waits for a second factor.
        case login(FirstFactor)
        /// A first login by a provider whose e-mail address an account has. It waits until the client says whether the
        /// account is the same human's.
        case sameAddress(VerifiedLogin, guest: GuestClaim?, email: String)
        /// A login by a passkey alone. The passkey decides which user logs in.
        case passkey
        /// A step-up of a session. The value is the SHA-256 of the session token.
        case reauthentication([UInt8])
        /// A password reset by a mailed link. The value is the SHA-256 of the link's token.
        case link([UInt8])
    }

    let occasion: FactorOccasion
    let purpose: Purpose
    /// The id of the user, or the id for the user whom the login creates.
    ///
    /// Nil for a login by a passkey alone, since the passkey identifies the user later.
    let user: ObjectID?
    /// Whether the user exists already.
    let isUserThere: Bool
    /// Whether the user must enrol a factor, since the user has none.
    let enrols: Bool
    /// The label of the API key of the client that began the operation.
    let keyLabel: String?
    /// The client's session before the login.
    let previousSession: SessionKey?
    /// The time at which the operation began.
    ///
    /// For a login that has a first factor, this is the time at which the write of the login began, by the clock of the
    /// database. For all other operations, the clock is that of this instance.
    let begunAt: StoreMoment
    let endsAt: Int64

    static let keyName = "federation: pending login"

    /// The seconds within which the user must present a second factor.
    static let seconds = FactorChecks.seconds
    /// The seconds within which a user without a second factor must enrol one.
    ///
    /// This is longer than the time for an existing factor, since the user may have to install an authenticator app.
    static let enrolmentSeconds = FactorEnrolment.seconds

    /// The seconds within which a client must answer `account_exists`.
    ///
    /// The user may have to look up a password, or wait for a mail.
    static let sameAddressSeconds: Int64 = 900

    private enum Key {
        static let (occasion, user, isThere, enrols) = ("occasion", "user", "there", "enrols")
        static let (keyLabel, previous, end) = ("key", "previousSession", "end")
        static let (provider, verified, guest, guestSession) = ("provider", "verified", "guest", "guestSession")
        static let (hash, hashKey, login, session) = ("hash", "hashKey", "login", "session")
        static let (link, passkey, mailed) = ("link", "passkey", "mailed")
        static let (sameAddress, mailbox, keepsIdentities) = ("sameAddress", "mailbox", "keepsIdentities")
    }

    init(
        occasion: FactorOccasion,
        purpose: Purpose,
        user: ObjectID?,
        isUserThere: Bool,
        enrols: Bool,
        keyLabel: String?,
        previousSession: SessionKey?,
        begunAt: StoreMoment,
        endsAt: Int64
    ) {
        self.occasion = occasion
        self.purpose = purpose
        self.user = user
        self.isUserThere = isUserThere
        self.enrols = enrols
        self.keyLabel = keyLabel
        self.previousSession = previousSession
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
        if let previousSession { object.append(Key.previous, .string(Base64URL.encode(previousSession.hash))) }
        switch purpose {
        case .login(.provider(let login, let joining)):
            Self.add(login, joining, to: &object)
        case .sameAddress(let login, let guest, let email):
            Self.add(login, guest.map(JoinedUser.guest), to: &object)
            object.append(Key.sameAddress, .string(email))
        case .login(.password(let password)): Self.add(password, to: &object)
        case .login(.mailedLink(let password)):
            Self.add(password, to: &object)
            object.append(Key.mailed, .bool(true))
        case .reauthentication(let tokenHash): object.append(Key.session, .string(Base64URL.encode(tokenHash)))
        case .link(let tokenHash): object.append(Key.link, .string(Base64URL.encode(tokenHash)))
        case .passkey: object.append(Key.passkey, .bool(true))
        }
        return Secret(JSONValue.object(object).text)
    }

    private static func add(_ password: StoredPassword, to object: inout JSONObject) {
        object.append(Key.hash, .string(Base64URL.encode(password.hash.bytes)))
        object.append(Key.hashKey, .string(password.hash.keyID))
        object.append(Key.login, .string(password.login))
    }

    private static func add(_ login: VerifiedLogin, _ joining: JoinedUser?, to object: inout JSONObject) {
        object.append(Key.provider, .string(login.result.verified.identity.provider.text))
        object.append(Key.verified, .string(login.text.reveal()))
        switch joining {
        case .guest(let guest):
            object.append(Key.guest, .string(guest.id.description))
            object.append(Key.guestSession, .string(Base64URL.encode(guest.session.hash)))
        case .mailbox(let mailbox):
            object.append(Key.mailbox, .string(mailbox.email))
            object.append(Key.keepsIdentities, .bool(mailbox.keepsIdentities))
        case nil: break
        }
    }

    init?(_ object: JSONObject) {
        func bytes(_ key: String) -> [UInt8]? { object[key]?.string.flatMap { Base64URL.decode($0.utf8) } }
        func session(_ key: String) -> SessionKey? { bytes(key).map { SessionKey(hash: $0) } }
        func id(_ key: String) -> ObjectID? { object[key]?.string.flatMap { ObjectID($0) } }
        guard let occasion = bytes(Key.occasion), let isThere = object[Key.isThere]?.bool,
            let enrols = object[Key.enrols]?.bool, let begun = StoreMoment(in: object),
            let end = object[Key.end]?.integer
        else { return nil }
        if let verified = object[Key.verified]?.string {
            guard let provider = object[Key.provider]?.string.flatMap({ ProviderName($0) }),
                let login = VerifiedLogin(Secret(verified), provider: provider)
            else { return nil }
            let guest = id(Key.guest).flatMap { id in session(Key.guestSession).map { GuestClaim(id: id, session: $0) }
            }
            if let email = object[Key.sameAddress]?.string {
                purpose = .sameAddress(login, guest: guest, email: email)
            } else if let email = object[Key.mailbox]?.string {
                guard let user = id(Key.user), let keeps = object[Key.keepsIdentities]?.bool else { return nil }
                let mailbox = LinkTarget.Mailbox(user: user, email: email, keepsIdentities: keeps)
                purpose = .login(.provider(login, joining: .mailbox(mailbox)))
            } else {
                purpose = .login(.provider(login, joining: guest.map(JoinedUser.guest)))
            }
        } else if let hash = bytes(Key.hash) {
            guard let key = object[Key.hashKey]?.string, let login = object[Key.login]?.string,
                let user = id(Key.user)
            else { return nil }
            let encrypted = EncryptedSecret(bytes: hash, keyID: key)
            let password = StoredPassword(objectID: user, login: login, hash: encrypted)
            purpose = .login(object[Key.mailed]?.bool == true ? .mailedLink(password) : .password(password))
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
        previousSession = session(Key.previous)
        begunAt = begun
        endsAt = end
    }
}

// Encoding of the time in an encrypted pending login. Instances of the former version write and read only the seconds.
// For them, a change within the same second counts as a later change.
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
