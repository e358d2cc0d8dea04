import ArgumentParser
import Identity

/// The settings of an application, by their names in documents.
enum Setting: String, ExpressibleByArgument, CaseIterable, Sendable {
    case clientMapping
    case dynamicProperties
    case sessionIdleSeconds
    case sessionAbsoluteSeconds
    case multipleLogins
    case allowedOrigins
    case hostNames
}

/// The settings of an application as options.
struct SettingsOptions: ParsableArguments {
    @Flag(inversion: .prefixedNo, help: "Clients may send a mapping of their own.")
    var clientMapping: Bool?

    @Flag(inversion: .prefixedNo, help: "A client's mapping may name properties that nobody declared.")
    var dynamicProperties: Bool?

    @Option(help: ArgumentHelp("How long an unused session lives, like 14d.", valueName: "time"))
    var sessionIdle: Lifetime?

    @Option(help: ArgumentHelp("How long any session lives, like 30d.", valueName: "time"))
    var sessionAbsolute: Lifetime?

    @Flag(inversion: .prefixedNo, help: "A user may have several sessions; without, the last login ends the others.")
    var multipleLogins: Bool?

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

    /// The members of `settings` that were given; nil when none was.
    var document: JSONValue? {
        let settings = JSONObject(present: [
            Setting.clientMapping.rawValue: clientMapping.map(JSONValue.bool),
            Setting.dynamicProperties.rawValue: dynamicProperties.map(JSONValue.bool),
            Setting.sessionIdleSeconds.rawValue: sessionIdle.map { .integer($0.seconds) },
            Setting.sessionAbsoluteSeconds.rawValue: sessionAbsolute.map { .integer($0.seconds) },
            Setting.multipleLogins.rawValue: multipleLogins.map(JSONValue.bool),
            Setting.allowedOrigins.rawValue: Self.list(allowedOrigins),
            Setting.hostNames.rawValue: Self.list(hostNames),
        ])
        return settings.members.isEmpty ? nil : .object(settings)
    }

    private static func list(_ texts: [String]) -> JSONValue? {
        texts.isEmpty ? nil : .array(texts.map(JSONValue.string))
    }
}

extension JSONObject {
    /// The members that have a value.
    init(present members: KeyValuePairs<String, JSONValue?>) {
        self.init(members.compactMap { key, value in value.map { Member(key, $0) } })
    }
}
