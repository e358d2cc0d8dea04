package import Description
import Encodings

/// The settings that an operator makes for an application as a whole.
package struct ApplicationSettings: Sendable, Equatable {
    /// Whether a client may send its own mapping with a login.
    ///
    /// Such a mapping is a list of rules that write fields of the provider's profile to properties of the user.
    package var clientMapping = true
    /// Whether a client's mapping may write undeclared properties; they are kept in one jsonb column.
    package var dynamicProperties = false
    /// What happens to undeclared properties that clients write themselves.
    ///
    /// Nil means `store` if `dynamicProperties` is true, and `refuse` if it is false.
    package var undeclaredProperties: UndeclaredProperties?
    /// How to read a time that a client writes without its offset from UTC.
    package var offsetlessTimes = OffsetlessTimes.refuse
    /// Seconds without use after which a session expires (decision D7).
    package var sessionIdleSeconds: Int64 = 14 * 86_400
    /// The maximum number of seconds between the creation of a session and its expiry, however much the session is
    /// used.
    package var sessionAbsoluteSeconds: Int64 = 30 * 86_400
    /// Whether a user may have several sessions at once.
    package var multipleLogins = true
    /// How many sessions a user may have at once, 1 to 1000; nil for the service's own limit.
    package var maxSessions: Int64?
    /// What a login does when the user already has as many sessions as are allowed.
    package var sessionLimitBehavior = SessionLimitBehavior.endOldest
    /// Days for which the identities of a disabled user stay banned after the user is erased, 0 to 3650.
    package var banDays: Int64 = 730
    /// Days for which a server that asks for a merged user learns who survived the merge, 7 to 3650.
    package var mergedUserDays: Int64 = 365
    /// The rules for new passwords.
    package var passwords = PasswordRules()
    /// Whether a user must log in again, or enter the password, before changing the password or the e-mail address.
    package var reauthentication = ReauthenticationRule.recent
    /// When wrong passwords cause a lockout.
    package var lockout = Lockout()
    /// The former system that checks the passwords of users who have none here yet.
    package var passwordSource = PasswordSource()
    /// Whether the response to a request for a password reset mail tells that the login name is unknown.
    package var allowAccountEnumeration = false
    /// The rights of server keys that the operator grants to every API key of the application.
    ///
    /// A server key is an API key for an operator's own server. Without the grant, only server keys have these rights.
    package var apiKeyRights: [APIKeyRight] = []
    /// The property whose value users enter as login name, together with a password: `email`, or a declared STRING or
    /// TEXT.
    package var identityProperty = PropertyName.email
    /// The settings for signed tokens, by which the application's other services verify users.
    package var tokens = TokenSettings()
    /// Whether clients of Firebase Authentication may use the application.
    package var firebase = FirebaseSettings()
    /// Origins of browser pages that may call the public API; empty means every origin.
    ///
    /// To allow every origin is safe: the API accepts no cookie or other credential that a browser sends by itself.
    package var allowedOrigins: [String] = []
    /// Host names whose path `/api` belongs to this application (docs/api/README.md#base-url), in lower case.
    package var hostNames: [String] = []
    /// Whether clients may create users.
    package var newUsers = NewUsers.open
    /// What a first login by a provider does whose e-mail address an account has already.
    package var sameAddress = SameAddress.separate
    /// Which accounts a new user of a provider may claim by mail.
    package var accountClaims = AccountClaims.off
    /// The settings for registration without a provider: users create an account with a password, or log in as guests.
    package var registration = Registration()
    /// The names of the roles that can be given to users, besides the built-in roles.
    package var roles: [String] = []
    /// For each right to read or change users through the public API: the users who have the right.
    package var collection = CollectionRights()
    /// Which logins need a second factor, and which factors count.
    package var secondFactor = SecondFactorPolicy()
    /// How the application's pages look.
    package var pages = PageSettings()

    package init() {}
}

/// Whether users get signed tokens for the application's other services, and what the tokens contain.
package struct TokenSettings: Sendable, Equatable {
    package var enabled = false
    /// How long a token is valid, 60 to 3600 seconds; a token cannot be revoked earlier.
    package var seconds: Int64 = 300
    /// The audience of the tokens (`aud`); nil for the application's id.
    package var audience: String?

    package init() {}
}

extension ApplicationSettings {
    /// Describes each setting: its member of `settings` in an application document, its rules and its stored form.
    package static let description = ObjectDescription(
        ApplicationSettings(),
        unknown: "is not a setting",
        sections: [sessions, passwords, factors, clients, signedTokens, firebaseClients, rights, appearance],
        finish: { settings, given in
            guard given["sessionIdleSeconds"] == nil else { return }
            settings.sessionIdleSeconds = min(settings.sessionIdleSeconds, settings.sessionAbsoluteSeconds)
        },
        check: { settings, place, problems in
            settings.collection.check(roles: settings.roles, at: place / "collection", problems: &problems)
            settings.secondFactor.check(roles: settings.roles, at: place / "secondFactor", problems: &problems)
        }
    )

    /// Warnings for operators about settings that weaken security without need.
    package var warnings: [String] { Self.description.warnings(of: self) }

    /// The bounds of a session's lifetime: a session that lives longer than a year would be a permanent credential.
    private static let sessionTime = Codec.seconds(60...366 * 86_400)

    private static let sessions = ObjectDescription<ApplicationSettings>.Section(
        "sessions",
        "Sessions",
        [
            Field(
                "sessionIdleSeconds",
                \.sessionIdleSeconds,
                sessionTime,
                "Idle timeout",
                """
                How long a session may stay unused before it expires, at most sessionAbsoluteSeconds. The default is \
                14 days, or sessionAbsoluteSeconds if that is shorter.
                """
            ),
            Field(
                "sessionAbsoluteSeconds",
                \.sessionAbsoluteSeconds,
                sessionTime,
                "Maximum lifetime",
                "How long after its creation a session expires, used or not."
            ),
            Field(
                "multipleLogins",
                \.multipleLogins,
                .flag,
                "Multiple sessions per user",
                """
                Whether a user may have several sessions at once. If not, sessionLimitBehavior decides whether a login revokes \
                the other sessions or is refused.
                """
            ),
            Field(
                "maxSessions",
                formerly: "mostSessions",
                \.maxSessions,
                Codec.integer(1...1000, "sessions").orNull,
                "Maximum sessions per user",
                """
                How many sessions a user may have at once. At the limit, sessionLimitBehavior decides. null: the limit of the \
                service, about 1000.
                """
            ),
            Field(
                "sessionLimitBehavior",
                formerly: "excessLogins",
                \.sessionLimitBehavior,
                .word,
                "At the session limit",
                """
                What a login does when the user has as many sessions as multipleLogins and maxSessions allow. \
                endOldest: the oldest session is revoked. refuse: the login is refused.
                """
            ),
        ]
    )

    private static let passwords = ObjectDescription<ApplicationSettings>.Section(
        "passwords",
        "Registration and passwords",
        [
            Field(
                "newUsers",
                \.newUsers,
                .word,
                "New users",
                """
                Whether clients may create users: by a provider, with a password or as guests. open: yes. invited: \
                only with an invitation. closed: no; existing users can still log in. Servers, imports and operators \
                may always create users.
                """
            ),
            Field(
                "sameAddress",
                \.sameAddress,
                .word,
                "First login with a known address",
                """
                What a first login by a provider does whose e-mail address an account has already. separate: it \
                creates a user of its own. ask: it is put off with account_exists, so that the app can connect both. \
                The sender of the login then learns that the address has an account.
                """
            ),
            Field(
                "accountClaims",
                \.accountClaims,
                .word,
                "Claims of older accounts by mail",
                """
                When a first login by a provider brings the e-mail address of an account, a mail to this address \
                offers to make both one. off: never. imported: for accounts that are older than the application \
                here, or that nobody has logged in to yet. all: for every account.
                """
            ),
            Field(
                "registration",
                \.registration,
                .object(Registration.description),
                "Registration",
                "Accounts that users create themselves, without a provider."
            ),
            Field(
                "identityProperty",
                \.identityProperty,
                .text(PropertyName.rule, { PropertyName($0) }, text: \.text),
                "Login name",
                """
                The property by which users log in with a password: email, or a declared property of type STRING or \
                TEXT. This setting cannot change once a user has a password. The property cannot be removed while it \
                is the login name.
                """
            ),
            Field(
                "passwords",
                \.passwords,
                .object(PasswordRules.description),
                "Passwords",
                "Rules for new passwords. The most common passwords are always refused."
            ),
            Field(
                "passwordSource",
                \.passwordSource,
                .object(PasswordSource.description),
                "Password source",
                """
                The system from which the application moves here. It is asked once for each user who has no password \
                here: if it says that the password is right, the password is stored. The login name must be email or \
                an indexed property.
                """
            ),
            Field(
                "lockout",
                formerly: "lock",
                \.lockout,
                .object(Lockout.description),
                "Lockout after wrong passwords",
                "When wrong passwords lead to a lockout. Other login methods keep working."
            ),
            Field(
                "reauthentication",
                \.reauthentication,
                .word,
                "To change the password or e-mail address",
                """
                What a change of the password or the e-mail address needs besides a session. recent: a login within \
                the last five minutes, or the password. session: nothing, which gives a warning. Linking and unlinking \
                always need a recent login.
                """,
                warnings: { rule in
                    guard rule == .session else { return [] }
                    return [
                        """
                        reauthentication is session: anyone with a stolen session can change the password and the \
                        e-mail address, and take over the account. Set it to recent, unless your app cannot ask for \
                        the password.
                        """
                    ]
                }
            ),
            Field(
                "allowAccountEnumeration",
                formerly: "tellUnknownLogins",
                \.allowAccountEnumeration,
                .flag,
                "Reveal unknown login names",
                """
                Whether a password reset for an unknown login name fails with an error that says so, and whether \
                account_exists tells the login methods of the account. Anyone can then find out who has an account, \
                which gives a warning.
                """,
                warnings: { isTold in
                    guard isTold else { return [] }
                    return [
                        """
                        allowAccountEnumeration is true: anyone can find out which login names have an account. Set it to \
                        false, unless an app needs this error.
                        """
                    ]
                }
            ),
            Field(
                "banDays",
                \.banDays,
                .integer(0...3650, "days"),
                "Days that identities stay banned",
                """
                Days that the identities of a disabled user stay banned after the user is erased. 0: not at all. A \
                change applies to later erasures.
                """
            ),
            Field(
                "mergedUserDays",
                \.mergedUserDays,
                .integer(7...3650, "days"),
                "Days that a merged user's id is known",
                """
                Days for which a server that asks for the id of a merged user learns the id of the user who survived \
                the merge. A change applies to later merges.
                """
            ),
        ]
    )

    private static let factors = ObjectDescription<ApplicationSettings>.Section(
        "secondFactor",
        "Second factor",
        [
            Field(
                "secondFactor",
                \.secondFactor,
                .object(SecondFactorPolicy.description),
                "Second factor",
                "Which logins need a second factor, and which factors are accepted."
            )
        ]
    )

    private static let clients = ObjectDescription<ApplicationSettings>.Section(
        "clients",
        "Clients",
        [
            Field(
                "allowedOrigins",
                \.allowedOrigins,
                .list(of: .text(.origin), max: 100),
                "Allowed origins",
                """
                Origins of browser pages that may call the public API, exactly as browsers send them. An empty list \
                allows all origins.
                """
            ),
            Field(
                "hostNames",
                \.hostNames,
                .list(of: .text(.hostName), max: 20),
                "Host names",
                """
                Host names on which the path /api belongs to this application: DNS names in lower case, without port. \
                A host name belongs to one application only.
                """
            ),
            Field(
                "apiKeyRights",
                formerly: "clientKeys",
                \.apiKeyRights,
                .list(of: .word, max: APIKeyRight.allCases.count, repeated: "names a right twice"),
                "Server rights of every API key",
                """
                Server rights that every API key has. confirmationURL: create the link that confirms any e-mail \
                address. findByRole: read the users who have a role. Each gives a warning.
                """,
                warnings: { rights in rights.sorted { $0.rawValue < $1.rawValue }.map(\.warning) }
            ),
            Field(
                "clientMapping",
                \.clientMapping,
                .flag,
                "Clients may send a mapping",
                "Whether a login may include a mapping from the client. If not, that mapping is ignored."
            ),
            Field(
                "dynamicProperties",
                \.dynamicProperties,
                .flag,
                "Undeclared properties in client mappings",
                """
                Whether clients may write undeclared properties, at most 100 names: by their own mapping and, unless \
                undeclaredProperties says otherwise, in records. The values are stored in the column dynamic.
                """
            ),
            Field(
                "undeclaredProperties",
                \.undeclaredProperties,
                Codec.word.orNull,
                "Undeclared properties in records",
                """
                What happens to undeclared properties in a record that a client writes. refuse: the record is refused, \
                and the error names them. store: they are stored in the column dynamic. drop: they are dropped, and a \
                response header names them. null: store with dynamicProperties, refuse without. Applications from \
                before schema version 8 have drop.
                """
            ),
            Field(
                "offsetlessTimes",
                \.offsetlessTimes,
                .word,
                "Times without a UTC offset",
                "How to read a time without a UTC offset, as Dart writes times. refuse: as an error. utc: as UTC."
            ),
        ]
    )

    private static let signedTokens = ObjectDescription<ApplicationSettings>.Section(
        "tokens",
        "Signed tokens",
        [
            Field(
                "tokens",
                \.tokens,
                .object(TokenSettings.description),
                "Signed tokens",
                "Signed tokens (GET users/token), with which your other services verify users themselves."
            )
        ]
    )

    private static let firebaseClients = ObjectDescription<ApplicationSettings>.Section(
        "firebase",
        "Firebase clients",
        [
            Field(
                "firebase",
                \.firebase,
                .object(FirebaseSettings.description),
                "Firebase clients",
                "Whether apps with an SDK of Firebase Authentication may use the application, and what they see."
            )
        ]
    )

    private static let rights = ObjectDescription<ApplicationSettings>.Section(
        "rights",
        "Roles and rights",
        [
            Field(
                "roles",
                \.roles,
                .list(of: .text(.role), max: 100, repeated: "names a role twice"),
                "Roles",
                "Roles that users can be given, besides the system roles AuthenticatedUser and GuestUser."
            ),
            Field(
                "collection",
                \.collection,
                .object(CollectionRights.description),
                "Rights in the users collection",
                """
                Who has each right in the users collection. users: all users with an account. guests: all guests. \
                role:NAME: users with that role. Servers have every right.
                """
            ),
        ]
    )

    private static let appearance = ObjectDescription<ApplicationSettings>.Section(
        "pages",
        "Pages for users",
        [
            Field(
                "pages",
                \.pages,
                .object(PageSettings.description),
                "Pages",
                "The look of the application's pages, and which pages exist."
            )
        ]
    )
}

extension APIKeyRight {
    fileprivate var warning: String {
        switch self {
        case .confirmationURL:
            """
            apiKeyRights has confirmationURL: anyone with the app can confirm any e-mail address without reading its \
            mail, so a confirmed address proves nothing. Remove it, and let your server create these links.
            """
        case .findByRole:
            """
            apiKeyRights has findByRole: anyone with the app can read which users have a role, their other roles, and \
            their properties that other users see. Remove it, and let your server send these requests.
            """
        }
    }
}

extension TokenSettings {
    static let description = ObjectDescription(
        TokenSettings(),
        unknown: "is not a setting of tokens",
        [
            Field("enabled", \.enabled, .flag, "on", "Whether users get signed tokens."),
            Field(
                // If a token were valid for more than an hour, revoking a session or disabling a user would have no
                // effect for hours on services that check only the token.
                "seconds",
                \.seconds,
                .seconds(60...3600),
                "lifetime",
                "How long a token is valid. It cannot be revoked earlier."
            ),
            Field(
                "audience",
                \.audience,
                Codec.text(audienceRule).orNull,
                "audience",
                "The audience of the tokens (claim aud). null: the application's id."
            ),
        ]
    )

    /// The rule for the `aud` claim of issued JWTs.
    ///
    /// The claim is a printable text, because the service that receives the token compares it literally.
    private static let audienceRule = TextRule(
        "must be 1 to 200 printable ASCII characters without spaces",
        pattern: "^[!-~]+$",
        maxBytes: 200,
        example: "https://orders.example.com"
    ) { (1...200).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}

/// What happens to values that clients write for undeclared properties (decision D19).
package enum UndeclaredProperties: String, Sendable, CaseIterable {
    /// The service refuses the whole user object, with an error that names the properties.
    case refuse
    /// The values are kept unchanged, in the column `dynamic`.
    case store
    /// The values are dropped; the response names the properties.
    case drop
}

/// How to read a time that a client writes without an offset from UTC.
///
/// Only the client's device knows the offset.
package enum OffsetlessTimes: String, Sendable, CaseIterable {
    case refuse
    /// A time without an offset is read as a time in UTC.
    case utc
}

extension ApplicationSettings {
    /// What happens to undeclared properties, by the operator's setting or by its default.
    package var undeclared: UndeclaredProperties { undeclaredProperties ?? (dynamicProperties ? .store : .refuse) }
}
