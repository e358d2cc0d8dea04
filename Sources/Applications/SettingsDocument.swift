package import Vocabulary

/// The `settings` of an application document, and how they are stored.
package enum SettingsDocument {
    /// The longest that a session may live: more than a year is a permanent credential.
    private static let sessionSeconds: ClosedRange<Int64> = 60...366 * 86_400
    private static let mostSessions: ClosedRange<Int64> = 1...1000
    private static let banDays: ClosedRange<Int64> = 0...3650
    private static let mostOrigins = 100
    private static let mostHostNames = 20
    private static let mostRoles = 100

    /// Reads settings; what is absent keeps its default.
    ///
    /// - Throws: `DocumentProblems` with every problem, as in a document that holds them under `settings`.
    package static func parse(_ document: JSONValue) throws(DocumentProblems) -> ApplicationSettings {
        var problems = DocumentProblems()
        let settings = parse(document, at: JSONPointer() / "settings", problems: &problems)
        guard problems.isEmpty else { throw problems }
        return settings
    }

    /// Reads settings as they are stored; those that only a later version knows are passed over.
    ///
    /// Before schema version 8 what nobody had declared was dropped, and applications from then go on like that until
    /// their operator says otherwise: apps that send such properties would be refused from one day to the next.
    package static func parse(stored document: JSONValue) throws(DocumentProblems) -> ApplicationSettings {
        var problems = DocumentProblems(passingOverUnknown: true)
        var settings = parse(document, at: JSONPointer() / "settings", problems: &problems)
        guard problems.isEmpty else { throw problems }
        let isFromBefore = document.object?["undeclaredProperties"] == nil
        if isFromBefore, !settings.dynamicProperties { settings.undeclaredProperties = .drop }
        return settings
    }

    package static func parse(
        _ document: JSONValue,
        at place: JSONPointer,
        problems: inout DocumentProblems
    ) -> ApplicationSettings {
        var settings = ApplicationSettings()
        guard let object = document.object else {
            problems.add(place, "must be an object")
            return settings
        }
        for member in object.members {
            let place = place / member.key
            let value = member.value
            switch member.key {
            case "clientMapping": problems.take(value, at: place, into: &settings.clientMapping)
            case "dynamicProperties": problems.take(value, at: place, into: &settings.dynamicProperties)
            case "undeclaredProperties":
                if !value.isNull {
                    var undeclared = UndeclaredProperties.refuse
                    problems.take(value, at: place, into: &undeclared)
                    settings.undeclaredProperties = undeclared
                }
            case "offsetlessTimes": problems.take(value, at: place, into: &settings.offsetlessTimes)
            case "sessionIdleSeconds":
                problems.take(value, at: place, into: &settings.sessionIdleSeconds, sessionSeconds, "seconds")
            case "sessionAbsoluteSeconds":
                problems.take(value, at: place, into: &settings.sessionAbsoluteSeconds, sessionSeconds, "seconds")
            case "multipleLogins": problems.take(value, at: place, into: &settings.multipleLogins)
            case "mostSessions":
                if !value.isNull {
                    var most: Int64 = 0
                    problems.take(value, at: place, into: &most, mostSessions, "sessions")
                    settings.mostSessions = most
                }
            case "excessLogins": problems.take(value, at: place, into: &settings.excessLogins)
            case "banDays": problems.take(value, at: place, into: &settings.banDays, banDays, "days")
            case "passwords": settings.passwords = PasswordRules(value, at: place, problems: &problems)
            case "reauthentication": problems.take(value, at: place, into: &settings.reauthentication)
            case "lock": settings.lock = LoginLock(value, at: place, problems: &problems)
            case "tellUnknownLogins": problems.take(value, at: place, into: &settings.tellUnknownLogins)
            case "clientKeys": settings.clientKeys = clientKeys(value, at: place, problems: &problems)
            case "identityProperty":
                if let name = value.string.flatMap({ PropertyName($0) }) {
                    settings.identityProperty = name
                } else {
                    problems.add(place, "must be the name of a property")
                }
            case "tokens": settings.tokens = TokenSettings(value, at: place, problems: &problems)
            case "allowedOrigins":
                settings.allowedOrigins = problems.texts(value, at: place, most: mostOrigins) { text in
                    isOrigin(text) ? nil : "must be an origin like https://app.example.com, in lower case"
                }
            case "hostNames":
                settings.hostNames = problems.texts(value, at: place, most: mostHostNames) { text in
                    isHostName(text) ? nil : "must be a DNS name in lower case without port, like users.example.com"
                }
            case "newUsers": problems.take(value, at: place, into: &settings.newUsers)
            case "registration": settings.registration = registration(value, at: place, problems: &problems)
            case "roles":
                settings.roles = problems.texts(value, at: place, most: mostRoles) { roleProblem($0) }
                if Set(settings.roles).count != settings.roles.count { problems.add(place, "names a role twice") }
            case "collection": settings.collection = CollectionRights(value, at: place, problems: &problems)
            case "secondFactor": settings.secondFactor = SecondFactorPolicy(value, at: place, problems: &problems)
            case "pages": settings.pages = PageSettings(value, at: place, problems: &problems)
            default: problems.add(unknown: member.key, at: place, among: names, "is not a setting")
            }
        }
        settings.collection.check(roles: settings.roles, at: place / "collection", problems: &problems)
        settings.secondFactor.check(roles: settings.roles, at: place / "secondFactor", problems: &problems)
        if object["sessionIdleSeconds"] == nil {
            settings.sessionIdleSeconds = min(settings.sessionIdleSeconds, settings.sessionAbsoluteSeconds)
        }
        return settings
    }

    /// The names of all settings.
    package static let names = document(of: ApplicationSettings()).memberNames

    /// The settings as they are stored and exported: all of them.
    package static func document(of settings: ApplicationSettings) -> JSONValue {
        .object([
            "clientMapping": .bool(settings.clientMapping),
            "dynamicProperties": .bool(settings.dynamicProperties),
            "undeclaredProperties": settings.undeclaredProperties.map { .string($0.rawValue) } ?? .null,
            "offsetlessTimes": .string(settings.offsetlessTimes.rawValue),
            "sessionIdleSeconds": .integer(settings.sessionIdleSeconds),
            "sessionAbsoluteSeconds": .integer(settings.sessionAbsoluteSeconds),
            "multipleLogins": .bool(settings.multipleLogins),
            "mostSessions": settings.mostSessions.map(JSONValue.integer) ?? .null,
            "excessLogins": .string(settings.excessLogins.rawValue),
            "banDays": .integer(settings.banDays),
            "passwords": settings.passwords.document,
            "reauthentication": .string(settings.reauthentication.rawValue),
            "lock": settings.lock.document,
            "tellUnknownLogins": .bool(settings.tellUnknownLogins),
            "clientKeys": .array(settings.clientKeys.map { .string($0.rawValue) }),
            "identityProperty": .string(settings.identityProperty.text),
            "tokens": settings.tokens.document,
            "allowedOrigins": .array(settings.allowedOrigins.map(JSONValue.string)),
            "hostNames": .array(settings.hostNames.map(JSONValue.string)),
            "newUsers": .string(settings.newUsers.rawValue),
            "registration": .object([
                "enabled": .bool(settings.registration.enabled),
                "confirmEmail": .bool(settings.registration.confirmEmail),
                "mostPerHour": .integer(settings.registration.mostPerHour),
                "mostPerHourInAll": .integer(settings.registration.mostPerHourInAll),
            ]),
            "roles": .array(settings.roles.map(JSONValue.string)),
            "collection": settings.collection.document,
            "secondFactor": settings.secondFactor.document,
            "pages": settings.pages.document,
        ])
    }

    /// The settings as they are stored in the place of others, of which what only a later version knows stays.
    package static func document(of settings: ApplicationSettings, replacing stored: JSONValue) -> JSONValue {
        var problems = DocumentProblems(passingOverUnknown: true)
        let place = JSONPointer()
        _ = parse(stored, at: place, problems: &problems)
        return document(of: settings).keeping(Set(problems.passedOver.map(\.text)), of: stored, at: place)
    }

    private static func registration(
        _ document: JSONValue,
        at place: JSONPointer,
        problems: inout DocumentProblems
    ) -> Registration {
        var registration = Registration()
        guard let object = document.object else {
            problems.add(place, "must be an object")
            return registration
        }
        for member in object.members {
            let place = place / member.key
            switch member.key {
            case "enabled": problems.take(member.value, at: place, into: &registration.enabled)
            case "confirmEmail": problems.take(member.value, at: place, into: &registration.confirmEmail)
            case "mostPerHour":
                problems.take(member.value, at: place, into: &registration.mostPerHour, 1...1_000_000, "accounts")
            case "mostPerHourInAll":
                problems.take(member.value, at: place, into: &registration.mostPerHourInAll, 1...1_000_000, "accounts")
            default:
                let known = Self.document(of: ApplicationSettings()).object?["registration"]?.memberNames ?? []
                problems.add(unknown: member.key, at: place, among: known, "is not a setting of registration")
            }
        }
        return registration
    }

    private static func clientKeys(
        _ document: JSONValue,
        at place: JSONPointer,
        problems: inout DocumentProblems
    ) -> [ClientKeyRight] {
        let known = ClientKeyRight.allCases.map(\.rawValue)
        let words = problems.texts(document, at: place, most: known.count) { word in
            known.contains { $0.hasSameBytes(as: word) } ? nil : "must be one of " + known.joined(separator: ", ")
        }
        if Set(words).count != words.count { problems.add(place, "names a right twice") }
        return words.compactMap { ClientKeyRight(rawValue: $0) }
    }

    /// What is wrong with the name of a role; it stands in paths, so it is plain.
    private static func roleProblem(_ name: String) -> String? {
        guard (1...100).contains(name.utf8.count), let first = name.utf8.first, first.isASCIIAlphanumeric,
            name.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0.isOne(of: "-_.") })
        else { return "must be 1 to 100 letters, digits, -, _ or ., beginning with a letter or digit" }
        return SystemRole(name: name) == nil ? nil : "is a role that the system gives"
    }

    /// Scheme, host and port in lower case without a path, as browsers send it.
    static func isOrigin(_ text: String) -> Bool {
        guard text.utf8.count <= 253 else { return false }
        let schemes = ["https://", "http://"]
        guard let scheme = schemes.first(where: { text.utf8.starts(with: $0.utf8) }) else { return false }
        let host = text.utf8.dropFirst(scheme.utf8.count)
        return !host.isEmpty && host.allSatisfy { isLowerAlphanumeric($0) || $0.isOne(of: ".-:[]") }
    }

    /// Labels of letters, digits and inner hyphens, at most 63 bytes each, with dots between them (RFC 1123 §2.1).
    static func isHostName(_ text: String) -> Bool {
        let labels = text.utf8.prefix(254).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let hyphen = UInt8(ascii: "-")
        return text.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
                    && label.allSatisfy { isLowerAlphanumeric($0) || $0 == hyphen }
            }
    }

    private static func isLowerAlphanumeric(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || (byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z"))
    }
}

extension JSONValue {
    /// The same with members of another value that stand at these places.
    fileprivate func keeping(_ places: Set<String>, of other: JSONValue, at place: JSONPointer) -> JSONValue {
        guard !places.isEmpty, let object, let others = other.object else { return self }
        let own = object.members.map { member in
            let value = others[member.key].map { member.value.keeping(places, of: $0, at: place / member.key) }
            return JSONObject.Member(member.key, value ?? member.value)
        }
        return .object(JSONObject(own + others.members.filter { places.contains((place / $0.key).text) }))
    }
}
