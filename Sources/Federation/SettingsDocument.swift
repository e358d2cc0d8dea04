package import Identity

/// The `settings` of an application document, and how they are stored.
package enum SettingsDocument {
    /// The longest that a session may live: more than a year is a permanent credential.
    private static let longestSession: Int64 = 366 * 86_400

    /// Reads settings; what is absent keeps its default.
    ///
    /// - Throws: `DocumentProblems` with every problem.
    package static func parse(_ document: JSONValue) throws(DocumentProblems) -> ApplicationSettings {
        var problems = DocumentProblems()
        let settings = parse(document, at: "settings", problems: &problems)
        guard problems.isEmpty else { throw problems }
        return settings
    }

    static func parse(
        _ document: JSONValue?,
        at place: String,
        problems: inout DocumentProblems
    ) -> ApplicationSettings {
        var settings = ApplicationSettings()
        guard let document else { return settings }
        guard let object = document.object else {
            problems.add(place, "must be an object")
            return settings
        }
        for member in object.members {
            let place = place + "." + member.key
            switch member.key {
            case "clientMapping":
                problems.read(member.value.bool, "true or false", place) { settings.clientMapping = $0 }
            case "dynamicProperties":
                problems.read(member.value.bool, "true or false", place) { settings.dynamicProperties = $0 }
            case "sessionIdleSeconds":
                problems.read(seconds(member.value), "whole seconds from 60 to \(longestSession)", place) {
                    settings.sessionIdleSeconds = $0
                }
            case "sessionAbsoluteSeconds":
                problems.read(seconds(member.value), "whole seconds from 60 to \(longestSession)", place) {
                    settings.sessionAbsoluteSeconds = $0
                }
            case "allowedOrigins":
                problems.read(
                    texts(member.value, where: isOrigin),
                    "a list of origins like https://app.example.com",
                    place
                ) {
                    settings.allowedOrigins = $0
                }
            default: problems.add(place, "is not a setting")
            }
        }
        return settings
    }

    /// The settings as they are stored and exported.
    static func document(of settings: ApplicationSettings) -> JSONValue {
        .object([
            "clientMapping": .bool(settings.clientMapping),
            "dynamicProperties": .bool(settings.dynamicProperties),
            "sessionIdleSeconds": .integer(settings.sessionIdleSeconds),
            "sessionAbsoluteSeconds": .integer(settings.sessionAbsoluteSeconds),
            "allowedOrigins": .array(settings.allowedOrigins.map(JSONValue.string)),
        ])
    }

    private static func seconds(_ value: JSONValue) -> Int64? {
        guard let seconds = value.integer, (60...longestSession).contains(seconds) else { return nil }
        return seconds
    }

    private static func texts(_ value: JSONValue, where isValid: (String) -> Bool) -> [String]? {
        guard let elements = value.array, elements.count <= 100 else { return nil }
        let texts = elements.compactMap(\.string).filter(isValid)
        return texts.count == elements.count ? texts : nil
    }

    /// Scheme, host and port in lower case without a path, as browsers send it.
    private static func isOrigin(_ text: String) -> Bool {
        guard text.utf8.count <= 253 else { return false }
        let host =
            if text.hasPrefix("https://") { text.dropFirst(8) } else if text.hasPrefix("http://") {
                text.dropFirst(7)
            } else {
                Substring()
            }
        return !host.isEmpty
            && host.utf8.allSatisfy {
                $0.isASCIIDigit || ($0.isASCIILetter && $0 >= UInt8(ascii: "a")) || ".-:[]".utf8.contains($0)
            }
    }
}
