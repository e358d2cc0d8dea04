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
        /// No login asks for a second factor, and nobody enrols one.
        case off
        /// Logins of users who have enrolled a factor ask for it.
        case optional
        /// Users without a factor enrol one before the login is done.
        case required
    }

    package var demand = Demand.off
    /// The roles whose users need a factor under `required`; empty for all users.
    package var roles: [String] = []
    /// Providers that ask for a second factor themselves: logins by them need none here.
    package var vouchingProviders: [ProviderName] = []
    /// The kinds that can be enrolled and shown.
    package var factors: [FactorKind] = [.totp, .recoveryCode]
    /// Days for which a device that has shown a factor is not asked again, 0 to 30; 0 for never.
    package var trustedDeviceDays: Int64 = 0
    package var passkeys = PasskeyPolicy()
    package var sms = SMSPolicy()

    package init() {}

    /// The kinds of factors for which a user who has enrolled one is asked.
    package var askedFor: [FactorKind] { demand == .off ? [] : factors.filter(\.standsAlone) }

    /// Returns whether a kind is accepted as a second factor.
    package func allows(_ kind: FactorKind) -> Bool { demand != .off && factors.contains(kind) }

    /// Returns whether a kind can be enrolled; a passkey may be a login method where no second factor is asked for.
    package func enrols(_ kind: FactorKind) -> Bool { allows(kind) || kind == .passkey && passkeys.isLoginMethod }
}

/// The rules for ceremonies of passkeys (WebAuthn level 3).
package struct PasskeyPolicy: Sendable, Equatable {
    package enum UserVerification: String, Sendable, CaseIterable {
        case required, preferred, discouraged
    }

    /// The domain of the passkeys; nil while the operator has named none.
    package var relyingPartyID: String?
    /// The origins of ceremonies, in the form of browsers and apps.
    package var origins: [String] = []
    /// Whether the authenticator must verify its user, where a passkey is the second factor.
    package var userVerification = UserVerification.preferred
    /// Whether users log in by a passkey alone, which then always verifies its user.
    package var isLoginMethod = false
    /// Packages of the Android apps that use passkeys; `origins` has their certificates.
    package var androidPackages: [String] = []
    /// The apps for Apple's systems that use passkeys, in Apple's form: the team, a full stop, the bundle id.
    package var appleApps: [String] = []

    /// The prefix of an Android app's origin, before the SHA-256 of the app's certificate in base64url.
    package static let androidOrigin = "android:apk-key-hash:"

    /// Digests of the certificates that sign the Android apps.
    package var certificateDigests: [[UInt8]] {
        origins.filter { $0.hasPrefix(Self.androidOrigin) }
            .compactMap { Base64URL.decode($0.utf8.dropFirst(Self.androidOrigin.utf8.count)) }
    }

    package init() {}
}

/// The limits on the cost of SMS.
package struct SMSPolicy: Sendable, Equatable {
    /// The prefixes of the numbers that get messages, such as `+41` and `+4179`; empty means that no number gets one.
    package var prefixes: [String] = []
    /// Messages to one number within a day.
    package var mostPerNumber: Int64 = 10
    /// Messages that one source causes within an hour.
    package var mostPerSource: Int64 = 20
    /// Messages of the application within a day.
    package var mostPerDay: Int64 = 1000

    package init() {}
}

/// A second factor as its user and operators see it.
package struct Factor: Sendable {
    package let id: ObjectID
    package let kind: FactorKind
    /// The user's name for the factor.
    package let label: String?
    /// The redacted address or number to which a code is sent.
    package let hint: String?
    /// How many recovery codes are left; nil for other kinds.
    package let codesLeft: Int?
    /// Milliseconds since 1970, as `lastUsed`.
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
                "who is asked",
                """
                off: nobody is asked, and nobody enrolls a factor; existing factors stay. optional: users who have \
                enrolled a factor are asked at each login. required: everybody is asked, and users without a factor \
                enroll one before the login is done.
                """
            ),
            Field(
                "roles",
                \.roles,
                .list(of: .text(anyText), most: 100),
                "roles that need one",
                """
                The roles whose users need a factor under required; an empty list for everybody. Users who have \
                enrolled a factor are asked whatever their roles. A user who does not exist yet has no role.
                """
            ),
            Field(
                "vouchingProviders",
                \.vouchingProviders,
                .list(of: provider, most: 100),
                "providers that ask for one themselves",
                """
                Providers that ask for a second factor themselves: a login by one of them needs none here. Name only \
                providers that do: whoever has a person's account there has the account here.
                """
            ),
            Field(
                "factors",
                \.factors,
                .list(of: .word, most: FactorKind.allCases.count, repeated: "names a factor twice"),
                "kinds",
                """
                What can be enrolled and shown. totp: an authenticator app. recoveryCode: ten codes that stand in for \
                another factor. sms: codes to a telephone. email: codes to a mailbox. passkey: a passkey.
                """
            ),
            Field(
                "trustedDeviceDays",
                \.trustedDeviceDays,
                .integer(0...30, "days"),
                "days for which a device is trusted",
                """
                Days for which a device that has shown a factor is not asked again; 0 for asking always. A lower \
                number counts for later devices, 0 for all.
                """
            ),
            Field(
                "passkeys",
                \.passkeys,
                .object(PasskeyPolicy.description),
                "passkeys",
                "For which domain, pages and apps passkeys are."
            ),
            Field(
                "sms",
                \.sms,
                .object(SMSPolicy.description),
                "SMS",
                "Which telephones get codes, and how many messages may be paid for."
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

    /// Checks the settings together: no login may ask for a factor that cannot be enrolled.
    func check(roles known: [String], at place: JSONPointer, problems: inout DocumentProblems) {
        for (index, role) in roles.enumerated() where !known.contains(where: { $0.hasSameBytes(as: role) }) {
            problems.add(place / "roles" / index, "is not among the roles")
        }
        if demand != .off, !factors.contains(where: \.standsAlone) {
            problems.add(place / "factors", "needs one beside recoveryCode, which only stands in for another")
        }
        if factors.contains(.passkey) || passkeys.isLoginMethod, passkeys.relyingPartyID == nil {
            problems.add(place / "passkeys" / "rpId", "must be the domain that passkeys are for")
        }
        if factors.contains(.passkey) || passkeys.isLoginMethod, passkeys.origins.isEmpty {
            problems.add(place / "passkeys" / "origins", "must name where passkeys are used")
        }
        if !passkeys.androidPackages.isEmpty, passkeys.certificateDigests.isEmpty {
            problems.add(
                place / "passkeys" / "origins",
                "must name the certificate of the apps for Android, as android:apk-key-hash:…"
            )
        }
        if factors.contains(.sms), sms.prefixes.isEmpty {
            problems.add(place / "sms" / "countries", "must name the numbers that get messages, such as +41")
        }
    }
}

extension PasskeyPolicy {
    private static let mostListed = 20

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
                "domain",
                """
                The domain that passkeys are for: the domain of the origins, or one above it. A passkey counts for no \
                other domain: a change makes every passkey useless.
                """
            ),
            Field(
                "origins",
                \.origins,
                .list(of: .text(origin), most: mostListed),
                "pages and apps",
                """
                Pages and apps that make and use passkeys: origins of pages, and for apps for Android \
                android:apk-key-hash: with the SHA-256 of the app's certificate in base64url. Compared as bytes.
                """
            ),
            Field(
                "userVerification",
                \.userVerification,
                .word,
                "who holds it is verified",
                """
                Whether the authenticator verifies its user, by a fingerprint or a PIN, where a passkey is the second \
                factor.
                """
            ),
            Field(
                "login",
                \.isLoginMethod,
                .flag,
                "log in by a passkey alone",
                """
                Whether people log in by a passkey alone. Such a login always verifies the user, and needs no second \
                factor.
                """
            ),
            Field(
                "androidPackages",
                \.androidPackages,
                .list(of: .text(package), most: mostListed),
                "apps for Android",
                """
                Packages of the apps for Android that use the passkeys, for assetlinks.json. origins has their \
                certificates.
                """
            ),
            Field(
                "appleApps",
                \.appleApps,
                .list(of: .text(appleApp), most: mostListed),
                "apps for Apple's systems",
                """
                Apps for Apple's systems that use the passkeys, for apple-app-site-association: the team, a full stop, \
                the bundle id.
                """
            ),
        ]
    )

    /// The rule for the origin of a page, or of an Android app, which has the SHA-256 of the app's signing certificate.
    private static let origin = TextRule(
        "must be an origin like https://app.example.com, or an app's like android:apk-key-hash:…",
        pattern: #"^(https?://[a-z0-9.:\[\]-]+|android:apk-key-hash:[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])$"#,
        mostBytes: 253,
        example: "https://app.example.com"
    ) { text in
        TextRule.isOrigin(text)
            || text.hasPrefix(androidOrigin)
                && Base64URL.decode(text.utf8.dropFirst(androidOrigin.utf8.count))?.count == 32
    }

    /// Android's rule for the name of a package: two parts or more, each beginning with a letter.
    private static let package = TextRule(
        "must be the name of a package, like com.example.app",
        pattern: #"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+$"#,
        mostBytes: 255,
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
        "must be a team and a bundle id, like ABCDE12345.com.example.app",
        pattern: #"^[A-Z0-9]{10}\.[A-Za-z0-9.-]{1,155}$"#,
        mostBytes: 166,
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
                .list(of: .text(prefix), most: 250),
                "beginnings of numbers",
                """
                How the numbers begin that get codes: + and 1 to 14 digits, so +41 is Switzerland. With an empty list \
                nobody gets a code.
                """
            ),
            Field(
                "mostPerNumber",
                \.mostPerNumber,
                messages,
                "most a day to one number",
                "Messages for logins to one number within a day."
            ),
            Field(
                "mostPerSource",
                \.mostPerSource,
                messages,
                "most an hour from one network address",
                "Messages that one network address (IPv6: its /64) causes within an hour."
            ),
            Field(
                "mostPerDay",
                \.mostPerDay,
                messages,
                "most a day in all",
                "Messages of the application within a day, and so the most that a day costs."
            ),
        ]
    )

    private static let prefix = TextRule(
        "must be + and the first 1 to 14 digits of a number, like +41",
        pattern: #"^\+[1-9][0-9]{0,13}$"#,
        example: "+41"
    ) { text in
        let digits = text.utf8.dropFirst()
        return text.utf8.first == UInt8(ascii: "+") && (1...14).contains(digits.count)
            && digits.first != UInt8(ascii: "0") && digits.allSatisfy(\.isASCIIDigit)
    }
}
