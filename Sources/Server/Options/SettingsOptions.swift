import ArgumentParser
import Vocabulary

/// The settings of an application, by their names in documents.
enum Setting: String, ExpressibleByArgument, CaseIterable, Sendable {
    case clientMapping
    case dynamicProperties
    case undeclaredProperties
    case offsetlessTimes
    case sessionIdleSeconds
    case sessionAbsoluteSeconds
    case multipleLogins
    case mostSessions
    case excessLogins
    case banDays
    case passwords
    case reauthentication
    case lock
    case tellUnknownLogins
    case clientKeys
    case identityProperty
    case tokens
    case allowedOrigins
    case hostNames
    case newUsers
    case registration
    case roles
    case collection
    case pages
}

/// The settings of an application as options.
struct SettingsOptions: ParsableArguments {
    @Flag(inversion: .prefixedNo, help: "Clients may send a mapping of their own.")
    var clientMapping: Bool?

    @Flag(inversion: .prefixedNo, help: "A client's mapping may name properties that nobody declared.")
    var dynamicProperties: Bool?

    @Option(help: "What becomes of properties that clients write and nobody declared.")
    var undeclaredProperties: UndeclaredProperties?

    @Option(help: "What a time is that a client writes without its offset from UTC.")
    var offsetlessTimes: OffsetlessTimes?

    @Option(help: ArgumentHelp("How long an unused session lives, like 14d.", valueName: "time"))
    var sessionIdle: Lifetime?

    @Option(help: ArgumentHelp("How long any session lives, like 30d.", valueName: "time"))
    var sessionAbsolute: Lifetime?

    @Flag(inversion: .prefixedNo, help: "A user may have several sessions at once.")
    var multipleLogins: Bool?

    @Option(help: ArgumentHelp("How many sessions a user may have at once.", valueName: "number"))
    var mostSessions: Int64?

    @Option(help: ArgumentHelp("What a login beyond them does: end the oldest, or nothing.", valueName: "rule"))
    var excessLogins: ExcessLogins?

    @Option(help: ArgumentHelp("Days for which a disabled user who was erased stays banned.", valueName: "count"))
    var banDays: Int64?

    @Option(help: ArgumentHelp("How many characters a new password has at least, 8 to 64.", valueName: "number"))
    var fewestPasswordCharacters: Int64?

    @Option(help: ArgumentHelp("What a change of password or address needs of a session.", valueName: "rule"))
    var reauthentication: ReauthenticationRule?

    @Option(help: ArgumentHelp("How many wrong passwords lock a login, 3 to 100.", valueName: "number"))
    var lockAfterFailures: Int64?

    @Option(help: ArgumentHelp("How long wrong passwords count, and so lock, like 10m.", valueName: "time"))
    var lockTime: Lifetime?

    @Flag(inversion: .prefixedNo, help: "Who asks to restore the password of an unknown login is told so.")
    var tellUnknownLogins: Bool?

    @Option(
        name: .customLong("client-key-right"),
        help: ArgumentHelp("What of a server's every API key may do; once for each.", valueName: "right")
    )
    var clientKeys: [ClientKeyRight] = []

    @Option(help: ArgumentHelp("By which property people log in with a password.", valueName: "name"))
    var identityProperty: String?

    @Flag(inversion: .prefixedNo, help: "Users get signed tokens for the application's other services.")
    var tokens: Bool?

    @Option(help: ArgumentHelp("How long a signed token is good, like 5m.", valueName: "time"))
    var tokenLifetime: Lifetime?

    @Option(help: ArgumentHelp("Whom signed tokens are for (aud); the application's id unless set.", valueName: "name"))
    var tokenAudience: String?

    @Option(
        name: .customLong("allowed-origin"),
        help: ArgumentHelp("An origin of pages that may call the API; once for each.", valueName: "origin")
    )
    var allowedOrigins: [String] = []

    @Option(
        name: .customLong("host-name"),
        help: ArgumentHelp("A host name whose /api is this application; once for each.", valueName: "host")
    )
    var hostNames: [String] = []

    @Option(help: ArgumentHelp("Whether clients may make new users, by whichever way in.", valueName: "rule"))
    var newUsers: NewUsers?

    @Flag(inversion: .prefixedNo, help: "People may register with a password, and come as guests.")
    var registration: Bool?

    @Flag(inversion: .prefixedNo, help: "Who registers has to confirm the e-mail address before the first login.")
    var confirmEmail: Bool?

    @Option(help: ArgumentHelp("How many accounts one network address may make within an hour.", valueName: "number"))
    var registrationsPerHour: Int64?

    @Option(help: ArgumentHelp("How many accounts may be made within an hour in all.", valueName: "number"))
    var registrationsPerHourInAll: Int64?

    @Option(
        name: .customLong("role"),
        help: ArgumentHelp("A role that users can be given; once for each.", valueName: "role")
    )
    var roles: [String] = []

    @Option(
        name: .customLong("allow"),
        help: ArgumentHelp(
            "Who may find, readOthers, updateOthers or deleteOwn: like find=users,role:editor; deleteOwn= for nobody.",
            valueName: "right=who"
        )
    )
    var rights: [RightOption] = []

    @Option(help: ArgumentHelp("The color of buttons on pages for people, like #1877f2.", valueName: "color"))
    var pageColor: String?

    /// The members of `settings` that were given; nil when none was.
    var document: JSONValue? {
        let settings = JSONObject(present: [
            Setting.clientMapping.rawValue: clientMapping.map(JSONValue.bool),
            Setting.dynamicProperties.rawValue: dynamicProperties.map(JSONValue.bool),
            Setting.undeclaredProperties.rawValue: undeclaredProperties.map { .string($0.rawValue) },
            Setting.offsetlessTimes.rawValue: offsetlessTimes.map { .string($0.rawValue) },
            Setting.sessionIdleSeconds.rawValue: sessionIdle.map { .integer($0.seconds) },
            Setting.sessionAbsoluteSeconds.rawValue: sessionAbsolute.map { .integer($0.seconds) },
            Setting.multipleLogins.rawValue: multipleLogins.map(JSONValue.bool),
            Setting.mostSessions.rawValue: mostSessions.map(JSONValue.integer),
            Setting.excessLogins.rawValue: excessLogins.map { .string($0.rawValue) },
            Setting.banDays.rawValue: banDays.map(JSONValue.integer),
            Setting.passwords.rawValue: fewestPasswordCharacters.map { .object(["fewestCharacters": .integer($0)]) },
            Setting.reauthentication.rawValue: reauthentication.map { .string($0.rawValue) },
            Setting.lock.rawValue: lock,
            Setting.tellUnknownLogins.rawValue: tellUnknownLogins.map(JSONValue.bool),
            Setting.clientKeys.rawValue: Self.list(clientKeys.map(\.rawValue)),
            Setting.identityProperty.rawValue: identityProperty.map(JSONValue.string),
            Setting.tokens.rawValue: tokenSettings,
            Setting.allowedOrigins.rawValue: Self.list(allowedOrigins),
            Setting.hostNames.rawValue: Self.list(hostNames),
            Setting.newUsers.rawValue: newUsers.map { .string($0.rawValue) },
            Setting.registration.rawValue: registrationDocument,
            Setting.roles.rawValue: Self.list(roles),
            Setting.collection.rawValue: rights.isEmpty
                ? nil
                : .object(JSONObject(rights.map { .init($0.right.rawValue, .array($0.who.map(JSONValue.string))) })),
            Setting.pages.rawValue: pageColor.map { .object(["color": .string($0)]) },
        ])
        return settings.members.isEmpty ? nil : .object(settings)
    }

    /// The members of `lock` that were given; nil when none was.
    private var lock: JSONValue? {
        let given = JSONObject(present: [
            "failures": lockAfterFailures.map(JSONValue.integer), "seconds": lockTime.map { .integer($0.seconds) },
        ])
        return given.members.isEmpty ? nil : .object(given)
    }

    /// The members of `tokens` that were given; nil when none was.
    private var tokenSettings: JSONValue? {
        let given = JSONObject(present: [
            "enabled": tokens.map(JSONValue.bool), "seconds": tokenLifetime.map { .integer($0.seconds) },
            "audience": tokenAudience.map(JSONValue.string),
        ])
        return given.members.isEmpty ? nil : .object(given)
    }

    private var registrationDocument: JSONValue? {
        let members = JSONObject(present: [
            "enabled": registration.map(JSONValue.bool), "confirmEmail": confirmEmail.map(JSONValue.bool),
            "mostPerHour": registrationsPerHour.map(JSONValue.integer),
            "mostPerHourInAll": registrationsPerHourInAll.map(JSONValue.integer),
        ])
        return members.members.isEmpty ? nil : .object(members)
    }

    private static func list(_ texts: [String]) -> JSONValue? {
        texts.isEmpty ? nil : .array(texts.map(JSONValue.string))
    }
}

/// A right in the users collection and who has it, like `find=users,role:editor`.
struct RightOption: ExpressibleByArgument, Sendable {
    let right: CollectionRights.Right
    let who: [String]

    init?(argument: String) {
        let halves = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, let right = CollectionRights.Right(rawValue: String(halves[0])) else { return nil }
        self.right = right
        who = halves[1].split(separator: ",").map(String.init)
    }
}

extension JSONObject {
    /// The members that have a value.
    init(present members: KeyValuePairs<String, JSONValue?>) {
        self.init(members.compactMap { key, value in value.map { Member(key, $0) } })
    }
}
