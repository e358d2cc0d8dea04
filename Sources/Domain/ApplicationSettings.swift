package import Description
import Encodings

/// The settings that an operator makes for an application as a whole.
package struct ApplicationSettings: Sendable, Equatable {
    /// Whether clients may send a mapping of their own.
    package var clientMapping = true
    /// Whether a client's mapping may write undeclared properties; they are kept in one jsonb column.
    package var dynamicProperties = false
    /// What happens to undeclared properties that clients write themselves.
    ///
    /// Nil means `store` with `dynamicProperties`, `refuse` without.
    package var undeclaredProperties: UndeclaredProperties?
    /// How to read a time that a client writes without its offset from UTC.
    package var offsetlessTimes = OffsetlessTimes.refuse
    /// Seconds without use after which a session expires (decision D7).
    package var sessionIdleSeconds: Int64 = 14 * 86_400
    /// Seconds after its creation at which a session expires in any case.
    package var sessionAbsoluteSeconds: Int64 = 30 * 86_400
    /// Whether a user may have several sessions at once.
    package var multipleLogins = true
    /// How many sessions a user may have at once, 1 to 1000; nil for the service's own limit.
    package var mostSessions: Int64?
    /// What a login does when the user already has as many sessions as are allowed.
    package var excessLogins = ExcessLogins.endOldest
    /// Days for which the identities of a disabled user stay banned after the user is erased, 0 to 3650.
    package var banDays: Int64 = 730
    /// The rules for new passwords.
    package var passwords = PasswordRules()
    /// What a session must show before it may change the password or the e-mail address.
    package var reauthentication = ReauthenticationRule.recent
    /// When wrong passwords cause a lockout.
    package var lock = LoginLock()
    /// Whether the response to a request for a password reset mail tells that the login name is unknown.
    package var tellUnknownLogins = false
    /// The rights of servers that every API key has, too.
    package var clientKeys: [ClientKeyRight] = []
    /// The property by whose value users log in with a password: `email`, or a declared STRING or TEXT.
    package var identityProperty = PropertyName.email
    /// The signed tokens by which other services verify users.
    package var tokens = TokenSettings()
    /// Origins of browser pages that may call the public API; empty means every origin.
    ///
    /// Every origin is safe, because no cookie or other ambient authority exists.
    package var allowedOrigins: [String] = []
    /// Host names whose path `/api` belongs to this application (docs/api.md#base-url), in lower case.
    package var hostNames: [String] = []
    /// Whether clients may create users.
    package var newUsers = NewUsers.open
    /// Registration without a provider: accounts that users make for themselves.
    package var registration = Registration()
    /// The roles that users can be given, besides the system's roles.
    package var roles: [String] = []
    /// Who has each right in the users collection.
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
    /// The description of the settings: members of `settings` in an application document, and how they are stored.
    package static let description = ObjectDescription(
        ApplicationSettings(),
        unknown: "is not a setting",
        sections: [sessions, passwords, factors, clients, signedTokens, rights, appearance],
        finish: { settings, given in
            guard given["sessionIdleSeconds"] == nil else { return }
            settings.sessionIdleSeconds = min(settings.sessionIdleSeconds, settings.sessionAbsoluteSeconds)
        },
        check: { settings, place, problems in
            settings.collection.check(roles: settings.roles, at: place / "collection", problems: &problems)
            settings.secondFactor.check(roles: settings.roles, at: place / "secondFactor", problems: &problems)
        }
    )

    /// Warnings for operators about settings that are weaker than they need be.
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
                "A session ends unused after",
                """
                Seconds without use after which a session ends, at most sessionAbsoluteSeconds. An absent value is 14 \
                days, or sessionAbsoluteSeconds where that is less.
                """
            ),
            Field(
                "sessionAbsoluteSeconds",
                \.sessionAbsoluteSeconds,
                sessionTime,
                "A session ends in any case after",
                "Seconds after its creation at which a session ends in any case."
            ),
            Field(
                "multipleLogins",
                \.multipleLogins,
                .flag,
                "Several sessions for each user",
                """
                Whether a user may have several sessions at once. Where a user may not, a login ends the other \
                sessions or is refused, as excessLogins says.
                """
            ),
            Field(
                "mostSessions",
                \.mostSessions,
                Codec.integer(1...1000, "sessions").orNull,
                "Most sessions of a user",
                """
                How many sessions a user may have at once. A login beyond them ends the oldest session or is refused, \
                as excessLogins says. null leaves the number to the service, which allows about 1000.
                """
            ),
            Field(
                "excessLogins",
                \.excessLogins,
                .word,
                "A login beyond these sessions",
                """
                What a login does where the user has as many sessions as multipleLogins and mostSessions allow: \
                endOldest ends the oldest session; refuse refuses the login.
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
                Whether clients may make new users, by a provider, a password or as guests. open: everybody may. \
                invited: whoever has an invitation may. closed: nobody may, and existing users go on logging in. \
                Servers, imports and operators may in every case.
                """
            ),
            Field(
                "registration",
                \.registration,
                .object(Registration.description),
                "Registration",
                "Accounts that people make for themselves, without a provider."
            ),
            Field(
                "identityProperty",
                \.identityProperty,
                .text(PropertyName.rule, { PropertyName($0) }, text: \.text),
                "People log in by",
                """
                The property by which people log in with a password: email, or a declared property of type STRING or \
                TEXT. The property cannot change once anybody has a password, and cannot be removed while people log \
                in by it.
                """
            ),
            Field(
                "passwords",
                \.passwords,
                .object(PasswordRules.description),
                "Passwords",
                "What a new password must be. A password among the most common ones is never accepted."
            ),
            Field(
                "lock",
                \.lock,
                .object(LoginLock.description),
                "Lock after wrong passwords",
                "When wrong passwords lock the login by password."
            ),
            Field(
                "reauthentication",
                \.reauthentication,
                .word,
                "To change the password or the address takes",
                """
                What a session must show before the password or the e-mail address changes. recent: a login of the \
                last five minutes, or the password. session: nothing, which is a warning. Linking and unlinking need a \
                recent login in either case.
                """,
                warnings: { rule in
                    guard rule == .session else { return [] }
                    return [
                        """
                        reauthentication is session: whoever gets hold of a session can change the password and the \
                        address, and has the account then. Keep recent, unless your app cannot ask for the password.
                        """
                    ]
                }
            ),
            Field(
                "tellUnknownLogins",
                \.tellUnknownLogins,
                .flag,
                "Tell that a login is unknown",
                """
                Whether a request to restore the password of an unknown login is told that the login is unknown. \
                Anybody can then find out who has an account, which is a warning.
                """,
                warnings: { isTold in
                    guard isTold else { return [] }
                    return [
                        """
                        tellUnknownLogins is true: whoever asks learns which addresses have an account here. Set it to \
                        false, unless an app has to say so.
                        """
                    ]
                }
            ),
            Field(
                "banDays",
                \.banDays,
                .integer(0...3650, "days"),
                "Days for which identities stay banned",
                """
                Days for which the identities of a disabled user stay banned after the user was erased; 0 for not at \
                all. A change counts for later erasures.
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
                "Which logins need a second factor, and which factors count."
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
                .list(of: .text(.origin), most: 100),
                "Allowed origins",
                """
                Origins of browser pages that may call the public API, as browsers send them. An empty list allows \
                all.
                """
            ),
            Field(
                "hostNames",
                \.hostNames,
                .list(of: .text(.hostName), most: 20),
                "Host names",
                """
                Hosts on which the path /api is this application's: DNS names in lower case, without port. A host \
                belongs to one application.
                """
            ),
            Field(
                "clientKeys",
                \.clientKeys,
                .list(of: .word, most: ClientKeyRight.allCases.count, repeated: "names a right twice"),
                "Open to every API key",
                """
                Rights of servers that every API key has. confirmationURL: make the link that confirms any address. \
                findByRole: read the users who have a role. Either is a warning.
                """,
                warnings: { rights in rights.sorted { $0.rawValue < $1.rawValue }.map(\.warning) }
            ),
            Field(
                "clientMapping",
                \.clientMapping,
                .flag,
                "Clients may send a mapping",
                "Whether a login may come with a mapping of the client's own. Otherwise that mapping is ignored."
            ),
            Field(
                "dynamicProperties",
                \.dynamicProperties,
                .flag,
                "Undeclared properties by clients' mappings",
                """
                Whether clients may write properties that nobody declared, at most 100 names: by a mapping of their \
                own and, unless undeclaredProperties says otherwise, in records. The values go to the column dynamic.
                """
            ),
            Field(
                "undeclaredProperties",
                \.undeclaredProperties,
                Codec.word.orNull,
                "Undeclared properties that clients write",
                """
                What happens to undeclared properties in a record that a client writes. refuse: the record is refused, \
                and the error names them. store: they go to the column dynamic. drop: they are dropped, and a header \
                names them. null is store with dynamicProperties and refuse without. Applications from before schema \
                version 8 have drop.
                """
            ),
            Field(
                "offsetlessTimes",
                \.offsetlessTimes,
                .word,
                "Times without an offset",
                """
                What a time without its offset from UTC is, as Dart writes times: refuse, an error; utc, a time in \
                UTC.
                """
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
                "Signed tokens (GET users/token), by which the application's other services check users themselves."
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
                .list(of: .text(.role), most: 100, repeated: "names a role twice"),
                "Roles",
                "Roles that users can be given. The system has the roles AuthenticatedUser and GuestUser besides."
            ),
            Field(
                "collection",
                \.collection,
                .object(CollectionRights.description),
                "Rights in the users collection",
                """
                Who has each right in the users collection: users, everybody with an account; guests, guests; \
                role:NAME, users with that role. Servers have every right.
                """
            ),
        ]
    )

    private static let appearance = ObjectDescription<ApplicationSettings>.Section(
        "pages",
        "Pages for people",
        [
            Field(
                "pages",
                \.pages,
                .object(PageSettings.description),
                "Pages",
                "How the application's pages look, and which of them exist."
            )
        ]
    )
}

extension ClientKeyRight {
    fileprivate var warning: String {
        switch self {
        case .confirmationURL:
            """
            clientKeys has confirmationURL: whoever has the app confirms any address without reading its mail, so a \
            confirmed address does not say that anybody reads its mail. Take it out, and have your server make these \
            links.
            """
        case .findByRole:
            """
            clientKeys has findByRole: whoever has the app learns which users have a role, what they show others, and \
            their other roles. Take it out, and have your server ask.
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
                // Beyond an hour, revoking a session or disabling a user would mean nothing to services that check
                // tokens.
                "seconds",
                \.seconds,
                .seconds(60...3600),
                "valid for",
                "Seconds for which a token is valid. Nothing can end a token earlier."
            ),
            Field(
                "audience",
                \.audience,
                Codec.text(audienceRule).orNull,
                "audience",
                "The audience of the tokens, the claim aud. null is the application's id."
            ),
        ]
    )

    /// The rule for audiences: services compare the audience with a text of their own.
    private static let audienceRule = TextRule(
        "must be 1 to 200 printable ASCII characters without spaces",
        pattern: "^[!-~]+$",
        mostBytes: 200,
        example: "https://orders.example.com"
    ) { (1...200).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}

/// What happens to values that clients write for undeclared properties (decision D19).
package enum UndeclaredProperties: String, Sendable, CaseIterable {
    /// The whole record is refused; the error names the properties.
    case refuse
    /// The values are kept unchanged, in the column `dynamic`.
    case store
    /// The values are dropped; the response names the properties.
    case drop
}

/// How to read a time that a client writes without its offset from UTC; only the device knows the offset.
package enum OffsetlessTimes: String, Sendable, CaseIterable {
    case refuse
    /// The time is in UTC.
    case utc
}

extension ApplicationSettings {
    /// What happens to undeclared properties, by the operator's setting or by its default.
    package var undeclared: UndeclaredProperties { undeclaredProperties ?? (dynamicProperties ? .store : .refuse) }
}
