/// What a second step of a login can ask for, by its name on the wire.
package enum FactorKind: String, Sendable, CaseIterable {
    /// A code of an authenticator app (RFC 6238).
    case totp
    /// One of the codes that a person keeps for the day on which nothing else is at hand.
    case recoveryCode
    /// A code that is sent to a telephone.
    case sms
    /// A code that is sent to a mailbox.
    case email
    /// A credential of an authenticator (WebAuthn).
    case passkey

    /// Whether a person who has it has a second factor: codes for the worst day stand in for another, and are none.
    package var standsAlone: Bool { self != .recoveryCode }
    /// Whether its code is sent to the person each time.
    package var isDelivered: Bool { self == .sms || self == .email }
}

/// What an operator decides about second factors.
package struct SecondFactorPolicy: Sendable, Equatable {
    package enum Demand: String, Sendable, CaseIterable {
        /// Nobody is asked, and nobody enrols one.
        case off
        /// Who has enrolled one is asked.
        case optional
        /// Who has none enrols one before the login is done.
        case required
    }

    package var demand = Demand.off
    /// Of whom one is required: of users with one of these roles; of everybody where none is named.
    package var roles: [String] = []
    /// Providers that ask for a second factor themselves: their logins need none of ours.
    package var vouchingProviders: [ProviderName] = []
    /// What can be enrolled and shown.
    package var factors: [FactorKind] = [.totp, .recoveryCode]
    /// Days for which a device that has shown a factor is not asked again, 0 to 30; 0 for never.
    package var trustedDeviceDays: Int64 = 0
    package var passkeys = PasskeyPolicy()
    package var sms = SMSPolicy()

    package init() {}

    /// The kinds of which one makes that a person is asked.
    package var askedFor: [FactorKind] { demand == .off ? [] : factors.filter(\.standsAlone) }

    /// Whether a kind is taken as a second factor.
    package func allows(_ kind: FactorKind) -> Bool { demand != .off && factors.contains(kind) }

    /// Whether a kind can be enrolled: a passkey may be a login method where no second factor is asked for.
    package func enrols(_ kind: FactorKind) -> Bool { allows(kind) || kind == .passkey && passkeys.isLoginMethod }
}

/// What ceremonies of passkeys are held to (WebAuthn level 3).
package struct PasskeyPolicy: Sendable, Equatable {
    package enum UserVerification: String, Sendable, CaseIterable {
        case required, preferred, discouraged
    }

    /// The domain that passkeys are for; nil while the operator has named none.
    package var relyingPartyID: String?
    /// Where ceremonies may take place, as browsers and apps name it.
    package var origins: [String] = []
    /// Whether the authenticator must have made sure who holds it, where a passkey is the second factor.
    package var userVerification = UserVerification.preferred
    /// Whether people log in by a passkey alone, which then always verifies its user.
    package var isLoginMethod = false
    /// Packages of the apps for Android that use passkeys; their certificates are among the origins.
    package var androidPackages: [String] = []
    /// The apps for Apple's systems that use passkeys, as Apple names them: the team, a full stop, the bundle.
    package var appleApps: [String] = []

    /// The beginning of an Android app's origin; behind it stands the SHA-256 of the app's certificate as base64url.
    package static let androidOrigin = "android:apk-key-hash:"

    /// Digests of the certificates that sign the apps for Android.
    package var certificateDigests: [[UInt8]] {
        origins.filter { $0.hasPrefix(Self.androidOrigin) }
            .compactMap { Base64URL.decode($0.utf8.dropFirst(Self.androidOrigin.utf8.count)) }
    }

    package init() {}
}

/// What bounds the price of messages to telephones.
package struct SMSPolicy: Sendable, Equatable {
    /// How numbers begin that get messages: `+41`, `+4179`; none, nobody gets one.
    package var prefixes: [String] = []
    /// Messages to one number within a day.
    package var mostPerNumber: Int64 = 10
    /// Messages that one source causes within an hour.
    package var mostPerSource: Int64 = 20
    /// Messages of the application within a day.
    package var mostPerDay: Int64 = 1000

    package init() {}
}

/// A factor as its person and operators see it.
package struct Factor: Sendable {
    package let id: ObjectID
    package let kind: FactorKind
    /// What the person calls it.
    package let label: String?
    /// Where a code is sent to, so far as it may be shown.
    package let hint: String?
    /// How many codes are left, of recovery codes.
    package let codesLeft: Int?
    /// Milliseconds since 1970, as the next one.
    package let created: Int64
    package let lastUsed: Int64?

    package init(
        id: ObjectID,
        kind: FactorKind,
        label: String?,
        hint: String?,
        codesLeft: Int?,
        created: Int64,
        lastUsed: Int64?
    ) {
        self.id = id
        self.kind = kind
        self.label = label
        self.hint = hint
        self.codesLeft = codesLeft
        self.created = created
        self.lastUsed = lastUsed
    }
}
