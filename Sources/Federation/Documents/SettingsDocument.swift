package import Identity

/// The `settings` of an application document, and how they are stored.
package enum SettingsDocument {
    /// The longest that a session may live: more than a year is a permanent credential.
    private static let longestSession: Int64 = 366 * 86_400
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
            case "sessionIdleSeconds": problems.take(value, at: place, into: &settings.sessionIdleSeconds)
            case "sessionAbsoluteSeconds": problems.take(value, at: place, into: &settings.sessionAbsoluteSeconds)
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

    fileprivate static func isLength(_ seconds: Int64) -> Bool { (60...longestSession).contains(seconds) }

    fileprivate static let lengths = "must be whole seconds from 60 to \(longestSession)"
}

extension DocumentProblems {
    fileprivate mutating func take(_ value: JSONValue, at place: JSONPointer, into setting: inout Bool) {
        if let bool = value.bool { setting = bool } else { add(place, "must be true or false") }
    }

    fileprivate mutating func take(_ value: JSONValue, at place: JSONPointer, into setting: inout Int64) {
        if let seconds = value.integer, SettingsDocument.isLength(seconds) {
            setting = seconds
        } else {
            add(place, SettingsDocument.lengths)
        }
    }

    /// A list of texts, each of which the closure finds nothing wrong with.
    fileprivate mutating func texts(
        _ value: JSONValue,
        at place: JSONPointer,
        most: Int,
        _ problem: (String) -> String?
    ) -> [String] {
        guard let elements = value.array, elements.count <= most else {
            add(place, "must be a list of at most \(most) texts")
            return []
        }
        var texts: [String] = []
        for (index, element) in elements.enumerated() {
            if let problem = problem(element.string ?? "") {
                add(place / index, problem)
            } else if let text = element.string {
                texts.append(text)
            }
        }
        return texts
    }
}
