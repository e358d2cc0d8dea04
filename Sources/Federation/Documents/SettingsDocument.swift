package import Identity

/// The `settings` of an application document, and how they are stored.
package enum SettingsDocument {
    /// The longest that a session may live: more than a year is a permanent credential.
    private static let sessionSeconds: ClosedRange<Int64> = 60...366 * 86_400
    private static let mostOrigins = 100
    private static let mostHostNames = 20

    /// Reads settings; what is absent keeps its default.
    ///
    /// - Throws: `DocumentProblems` with every problem, as in a document that holds them under `settings`.
    package static func parse(_ document: JSONValue) throws(DocumentProblems) -> ApplicationSettings {
        var problems = DocumentProblems()
        let settings = parse(document, at: JSONPointer() / "settings", problems: &problems)
        guard problems.isEmpty else { throw problems }
        return settings
    }

    static func parse(
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
            case "sessionIdleSeconds":
                problems.take(value, at: place, into: &settings.sessionIdleSeconds, sessionSeconds, "seconds")
            case "sessionAbsoluteSeconds":
                problems.take(value, at: place, into: &settings.sessionAbsoluteSeconds, sessionSeconds, "seconds")
            case "multipleLogins": problems.take(value, at: place, into: &settings.multipleLogins)
            case "allowedOrigins":
                settings.allowedOrigins = problems.texts(value, at: place, most: mostOrigins) { text in
                    isOrigin(text) ? nil : "must be an origin like https://app.example.com, in lower case"
                }
            case "hostNames":
                settings.hostNames = problems.texts(value, at: place, most: mostHostNames) { text in
                    isHostName(text) ? nil : "must be a DNS name in lower case without port, like users.example.com"
                }
            default: problems.add(place, "is not a setting")
            }
        }
        if object["sessionIdleSeconds"] == nil {
            settings.sessionIdleSeconds = min(settings.sessionIdleSeconds, settings.sessionAbsoluteSeconds)
        }
        return settings
    }

    /// The settings as they are stored and exported: all of them.
    package static func document(of settings: ApplicationSettings) -> JSONValue {
        .object([
            "clientMapping": .bool(settings.clientMapping),
            "dynamicProperties": .bool(settings.dynamicProperties),
            "sessionIdleSeconds": .integer(settings.sessionIdleSeconds),
            "sessionAbsoluteSeconds": .integer(settings.sessionAbsoluteSeconds),
            "multipleLogins": .bool(settings.multipleLogins),
            "allowedOrigins": .array(settings.allowedOrigins.map(JSONValue.string)),
            "hostNames": .array(settings.hostNames.map(JSONValue.string)),
        ])
    }

    /// Scheme, host and port in lower case without a path, as browsers send it.
    private static func isOrigin(_ text: String) -> Bool {
        guard text.utf8.count <= 253 else { return false }
        let schemes = ["https://", "http://"]
        guard let scheme = schemes.first(where: { text.utf8.starts(with: $0.utf8) }) else { return false }
        let host = text.utf8.dropFirst(scheme.utf8.count)
        return !host.isEmpty && host.allSatisfy { isLowerAlphanumeric($0) || ".-:[]".utf8.contains($0) }
    }

    /// Labels of letters, digits and inner hyphens, at most 63 bytes each, with dots between them (RFC 1123 §2.1).
    private static func isHostName(_ text: String) -> Bool {
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
