import Description
import Encodings

/// A kind of second factor, by its name on the wire.
package enum FactorKind: String, Sendable, CaseIterable {
    /// A code of an authenticator app (RFC 6238).
    case totp
    /// One of the recovery codes that a user keeps for the loss of the other factors.
    case recoveryCode
    /// A code sent by SMS.
    case sms
    /// A code sent by mail.
    case email
    /// A credential of an authenticator (WebAuthn).
    case passkey

    /// Whether the kind alone is a second factor; recovery codes only stand in for another factor.
    package var standsAlone: Bool { self != .recoveryCode }
    /// Whether a code is sent to the user each time.
    package var isDelivered: Bool { self == .sms || self == .email }
}

/// An application's settings for second factors.
package struct SecondFactorPolicy: Sendable, Equatable {
    package enum Demand: String, Sendable, CaseIterable {
        /// No login asks for a second factor, and no user can enrol one.
        case off
        /// Logins of users who have enrolled a factor ask for it.
        case optional
        /// Users without a factor enrol one before the login is done.
        case required
    }

    package var demand = Demand.off
    /// The roles whose users must have a second factor if `demand` is `required`; if the list is empty, all users must.
    package var roles: [String] = []
    /// The providers that ask for a second factor themselves.
    ///
    /// After a login by one of these providers, the service asks for no second factor.
    package var exemptProviders: [ProviderName] = []
    /// The kinds of second factors that users can enrol and that logins accept.
    package var factors: [FactorKind] = [.totp, .recoveryCode]
    /// Days for which logins on a device ask for no second factor after one was used there, 0 to 30.
    ///
    /// With 0, each login asks.
    package var trustedDeviceDays: Int64 = 0
    package var passkeys = PasskeyPolicy()
    package var sms = SMSPolicy()

    package init() {}

    /// The kinds of second factors for which logins ask; empty if logins ask for none.
    ///
    /// A login asks only for a factor that the user has enrolled.
    package var askedFor: [FactorKind] { demand == .off ? [] : factors.filter(\.standsAlone) }

    /// Returns whether a kind is accepted as a second factor.
    package func allows(_ kind: FactorKind) -> Bool { demand != .off && factors.contains(kind) }

    /// Returns whether users can enrol this kind of factor.
    ///
    /// If no login asks for a second factor, users can still enrol passkeys if passkeys are a login method.
    package func enrols(_ kind: FactorKind) -> Bool { allows(kind) || kind == .passkey && passkeys.isLoginMethod }
}

/// The rules for the registration and use of passkeys (WebAuthn level 3).
package struct PasskeyPolicy: Sendable, Equatable {
    package enum UserVerification: String, Sendable, CaseIterable {
        case required, preferred, discouraged
    }

    /// The domain to which the passkeys belong (WebAuthn's `rp.id`); nil while the operator has named none.
    package var relyingPartyID: String?
    /// The origins of web pages and apps that may register and use passkeys, in the form in which browsers and apps
    /// send them.
    package var origins: [String] = []
    /// Whether the authenticator must verify its user when a passkey is the second factor.
    package var userVerification = UserVerification.preferred
    /// Whether users can log in by a passkey alone; the authenticator must then verify its user.
    package var isLoginMethod = false
    /// The package names of the Android apps that use passkeys; `origins` has the digests of the apps' certificates.
    package var androidPackages: [String] = []
    /// The apps for Apple's systems that use passkeys, in Apple's form: the team, a full stop, the bundle id.
    package var appleApps: [String] = []

    /// The prefix of an Android app's origin, before the SHA-256 of the app's certificate in base64url.
    package static let androidOrigin = "android:apk-key-hash:"

    /// The SHA-256 of the certificates that sign the Android apps, from `origins`.
    package var certificateDigests: [[UInt8]] {
        origins.filter { $0.hasPrefix(Self.androidOrigin) }
            .compactMap { Base64URL.decode($0.utf8.dropFirst(Self.androidOrigin.utf8.count)) }
    }

    package init() {}
}

/// The limits on the cost of SMS.
package struct SMSPolicy: Sendable, Equatable {
    /// The prefixes of the numbers that get messages, such as `+41` and `+4179`; if empty, no number gets a message.
    package var prefixes: [String] = []
    /// The maximum number of messages to one number within a day.
    package var maxPerNumberPerDay: Int64 = 10
    /// The maximum number of messages that one source causes within an hour.
    package var maxPerSourcePerHour: Int64 = 20
    /// The maximum number of messages of the application within a day.
    package var maxPerDay: Int64 = 1000

    package init() {}
}

/// A second factor in the form that its user and operators see.
package struct Factor: Sendable {
    package let id: ObjectID
    package let kind: FactorKind
    /// The name that the user gave to the factor; nil if the user gave none.
    package let label: String?
    /// The redacted address or number to which a code is sent; nil for a factor that needs no sent code.
    package let hint: String?
    /// How many recovery codes are left; nil for other kinds.
    package let codesLeft: Int?
    /// The time at which the factor was enrolled, in milliseconds since 1970 UTC, like `lastUsed`.
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

extension SecondFactorPolicy {
    static let description = ObjectDescription(
        SecondFactorPolicy(),
        unknown: "is not a setting of secondFactor",
        [
            Field(
                "policy",
                \.demand,
                .word,
                "policy",
                """
                off: no login asks for a factor, and no user can enrol one; existing factors are kept. optional: each \
                login of a user with a factor asks for it. required: each login asks for a factor, and users without \
                one enrol it during the login.
                """
            ),
            Field(
                "roles",
                \.roles,
                .list(of: .text(anyText), max: 100),
                "required for roles",
                """
                With required: the roles whose users need a factor. An empty list means all users. Users with a factor \
                are always asked. A user who does not exist yet has no role.
                """
            ),
            Field(
                "exemptProviders",
                formerly: "vouchingProviders",
                \.exemptProviders,
                .list(of: provider, max: 100),
                "providers with their own second factor",
                """
                Providers that ask for a second factor themselves. Their logins need none here. Name only such \
                providers: anyone who gets a user's account there can log in as the user.
                """
            ),
            Field(
                "factors",
                \.factors,
                .list(of: .word, max: FactorKind.allCases.count, repeated: "names a factor twice"),
                "accepted factors",
                """
                The factors that users can enrol and use. totp: an authenticator app. recoveryCode: ten single-use \
                codes in place of a lost factor. sms: codes by SMS. email: codes by e-mail. passkey: passkeys.
                """
            ),
            Field(
                "trustedDeviceDays",
                \.trustedDeviceDays,
                .integer(0...30, "days"),
                "days that a device is trusted",
                """
                Days that a device is not asked again after a second factor. 0: each login asks. A lower number \
                applies to devices trusted later, 0 to all.
                """
            ),
            Field(
                "passkeys",
                \.passkeys,
                .object(PasskeyPolicy.description),
                "passkeys",
                "The domain, pages and apps of passkeys."
            ),
            Field(
                "sms",
                \.sms,
                .object(SMSPolicy.description),
                "SMS",
                "Which numbers get codes, and how many messages may be sent."
            ),
        ],
        rules: [needsFactor, needsDomain, needsCountries]
    )

    private static let anyText = TextRule("must be a text", schema: [:], example: "Editor") { _ in nil }

    private static let provider = Codec<ProviderName>.text(ProviderName.rule, { ProviderName($0) }, text: \.text)

    private static let needsFactor = JSONValue(
        schema: """
            {"if": {"required": ["policy", "factors"], "properties": {"policy": {"enum": ["optional", "required"]}}},
             "then": {"properties": {"factors": {"contains": {"enum": ["totp", "sms", "email", "passkey"]}}}}}
            """
    )

    private static let needsDomain = JSONValue(
        schema: """
            {"if": {"anyOf": [
            {"required": ["factors"], "properties": {"factors": {"type": "array", "contains": {"const": "passkey"}}}},
               {"required": ["passkeys"], "properties": {"passkeys":
                 {"type": "object", "required": ["login"], "properties": {"login": {"const": true}}}}}]},
             "then": {"required": ["passkeys"], "properties": {"passkeys":
            {"required": ["rpId", "origins"], "properties": {"rpId": {"type": "string"}, "origins": {"minItems": \
            1}}}}}}
            """
    )

    private static let needsCountries = JSONValue(
        schema: """
            {"if": {"required": ["factors"], "properties": {"factors": {"type": "array", "contains": {"const": \
            "sms"}}}},
             "then": {"required": ["sms"], "properties": {"sms":
               {"required": ["countries"], "properties": {"countries": {"minItems": 1}}}}}}
            """
    )

    /// Adds a problem for each setting that does not fit the others, such as a required factor that nobody can enrol.
    func check(roles known: [String], at place: JSONPointer, problems: inout DocumentProblems) {
        for (index, role) in roles.enumerated() where !known.contains(where: { $0.hasSameBytes(as: role) }) {
            problems.add(place / "roles" / index, "is not in the setting roles")
        }
        if demand != .off, !factors.contains(where: \.standsAlone) {
            problems.add(place / "factors", "needs a factor besides recoveryCode, which only replaces a lost one")
        }
        if factors.contains(.passkey) || passkeys.isLoginMethod, passkeys.relyingPartyID == nil {
            problems.add(place / "passkeys" / "rpId", "must be set to the domain of the passkeys")
        }
        if factors.contains(.passkey) || passkeys.isLoginMethod, passkeys.origins.isEmpty {
            problems.add(place / "passkeys" / "origins", "must list the pages and apps that use passkeys")
        }
        if !passkeys.androidPackages.isEmpty, passkeys.certificateDigests.isEmpty {
            problems.add(
                place / "passkeys" / "origins",
                "must list the certificate of the Android apps, as android:apk-key-hash:…"
            )
        }
        if factors.contains(.sms), sms.prefixes.isEmpty {
            problems.add(
                place / "sms" / "countries",
                "must list the prefixes of numbers that get messages, such as +41"
            )
        }
    }
}

extension PasskeyPolicy {
    private static let maxListed = 20

    fileprivate static let description = ObjectDescription(
        PasskeyPolicy(),
        unknown: "is not a setting of passkeys",
        [
            Field(
                "rpId",
                \.relyingPartyID,
                Codec.text(
                    .hostName("must be a DNS name in lower case without port, like example.com", example: "example.com")
                ).orNull,
                "domain (RP ID)",
                """
                The domain of passkeys (RP ID): the domain of the origins, or a parent domain. A change makes every \
                existing passkey useless.
                """
            ),
            Field(
                "origins",
                \.origins,
                .list(of: .text(origin), max: maxListed),
                "pages and apps",
                """
                Pages and apps that create and use passkeys. A page: its origin. An Android app: android:apk-key-hash: \
                followed by the SHA-256 of the signing certificate in base64url. Compared byte for byte.
                """
            ),
            Field(
                "userVerification",
                \.userVerification,
                .word,
                "user verification",
                """
                Whether the authenticator verifies the user, by fingerprint or PIN, when a passkey is the second factor.
                """
            ),
            Field(
                "login",
                \.isLoginMethod,
                .flag,
                "login with a passkey alone",
                """
                Whether users can log in with a passkey alone. Such a login always verifies the user, and needs no \
                second factor.
                """
            ),
            Field(
                "androidPackages",
                \.androidPackages,
                .list(of: .text(package), max: maxListed),
                "Android apps",
                """
                Package names of the Android apps that use the passkeys, for assetlinks.json. Their certificates \
                belong into origins.
                """
            ),
            Field(
                "appleApps",
                \.appleApps,
                .list(of: .text(appleApp), max: maxListed),
                "Apple apps",
                """
                Apple apps that use the passkeys, for apple-app-site-association: the team id, a full stop, the bundle \
                id.
                """
            ),
        ]
    )

    /// The rule for an origin that may use passkeys: a page's web origin, or an Android app's origin with the SHA-256
    /// of the app's signing certificate.
    private static let origin = TextRule(
        "must be an origin like https://app.example.com or, for an app, android:apk-key-hash:…",
        pattern: #"^(https?://[a-z0-9.:\[\]-]+|android:apk-key-hash:[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])$"#,
        maxBytes: 253,
        example: "https://app.example.com"
    ) { text in
        TextRule.isOrigin(text)
            || text.hasPrefix(androidOrigin)
                && Base64URL.decode(text.utf8.dropFirst(androidOrigin.utf8.count))?.count == 32
    }

    /// Android's rule for the name of a package: two parts or more, each beginning with a letter.
    private static let package = TextRule(
        "must be a package name, like com.example.app",
        pattern: #"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$"#,
        maxBytes: 255,
        example: "com.example.app"
    ) { text in
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.count <= 255 && parts.count > 1
            && parts.allSatisfy { part in
                part.first?.isASCIILetter == true
                    && part.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
            }
    }

    private static let appleApp = TextRule(
        "must be a team id and a bundle id, like ABCDE12345.com.example.app",
        pattern: #"^[A-Z0-9]{10}\.[A-Za-z0-9.-]{1,155}$"#,
        maxBytes: 166,
        example: "ABCDE12345.com.example.app"
    ) { text in
        let (team, rest) = (text.utf8.prefix(10), text.utf8.dropFirst(10))
        let bundle = rest.dropFirst()
        return team.count == 10 && team.allSatisfy { $0.isASCIIDigit || $0.isASCIILetter && !$0.isASCIILowercase }
            && rest.first == UInt8(ascii: ".") && (1...155).contains(bundle.count)
            && bundle.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: ".-") }
    }
}

extension SMSPolicy {
    private static let messages = Codec.integer(1...1_000_000, "messages")

    fileprivate static let description = ObjectDescription(
        SMSPolicy(),
        unknown: "is not a setting of sms",
        [
            Field(
                "countries",
                \.prefixes,
                .list(of: .text(prefix), max: 250),
                "number prefixes",
                """
                Prefixes of the telephone numbers that get codes: + and 1 to 14 digits, such as +41 for Switzerland. \
                With an empty list no codes are sent.
                """
            ),
            Field(
                "maxPerNumberPerDay",
                formerly: "mostPerNumber",
                \.maxPerNumberPerDay,
                messages,
                "maximum per day to one number",
                "Maximum messages for logins to one number within a day."
            ),
            Field(
                "maxPerSourcePerHour",
                formerly: "mostPerSource",
                \.maxPerSourcePerHour,
                messages,
                "maximum per hour from one network address",
                "Maximum messages that one network address (IPv6: its /64) can cause within an hour."
            ),
            Field(
                "maxPerDay",
                formerly: "mostPerDay",
                \.maxPerDay,
                messages,
                "maximum per day in total",
                "Maximum messages of the application within a day. This limits the cost of a day."
            ),
        ]
    )

    private static let prefix = TextRule(
        "must be + and the first 1 to 14 digits of a number, such as +41",
        pattern: #"^\+[1-9][0-9]{0,13}$"#,
        example: "+41"
    ) { text in
        let digits = text.utf8.dropFirst()
        return text.utf8.first == UInt8(ascii: "+") && (1...14).contains(digits.count)
            && digits.first != UInt8(ascii: "0") && digits.allSatisfy(\.isASCIIDigit)
    }
}
