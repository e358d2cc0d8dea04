package import Description
package import Domain
package import Encodings

/// Converts an application's settings from and to JSON, the form in which they are stored.
package enum SettingsDocument {
    /// Reads an application's settings from JSON; absent settings keep their defaults.
    ///
    /// - Throws: `DocumentProblems` with every problem. The paths in the problems begin with `settings`, as in an
    ///   application's document.
    package static func parse(_ document: JSONValue) throws(DocumentProblems) -> ApplicationSettings {
        try parse(document, DocumentProblems())
    }

    /// Reads stored settings, and ignores settings that only a later version knows.
    ///
    /// Before schema version 8, undeclared properties were dropped. Applications from that time still drop them until
    /// their operator changes the setting. Otherwise an upgrade would suddenly refuse apps that send such properties.
    package static func parse(stored document: JSONValue) throws(DocumentProblems) -> ApplicationSettings {
        var settings = try parse(document, DocumentProblems(passingOverUnknown: true))
        let isFromBefore = document.object?["undeclaredProperties"] == nil
        if isFromBefore, !settings.dynamicProperties { settings.undeclaredProperties = .drop }
        return settings
    }

    private static func parse(
        _ document: JSONValue,
        _ problems: DocumentProblems
    ) throws(DocumentProblems) -> ApplicationSettings {
        var problems = problems
        let place = JSONPointer() / "settings"
        let settings = ApplicationSettings.description.read(document, at: place, problems: &problems)
        guard problems.isEmpty else { throw problems }
        return settings
    }

    /// Returns the settings as stored and exported, with every default.
    package static func document(of settings: ApplicationSettings) -> JSONValue {
        ApplicationSettings.description.document(of: settings)
    }

    /// Returns the settings in their stored form, to replace the stored settings.
    ///
    /// The result keeps those of the replaced settings that only a later version of the service knows.
    package static func document(of settings: ApplicationSettings, replacing stored: JSONValue) -> JSONValue {
        var problems = DocumentProblems(passingOverUnknown: true)
        let place = JSONPointer()
        _ = ApplicationSettings.description.read(stored, at: place, problems: &problems)
        return document(of: settings).keeping(Set(problems.passedOver.map(\.text)), of: stored, at: place)
    }
}

extension JSONValue {
    /// Returns this JSON value with members of another value added.
    ///
    /// `places` has the JSON pointers of the members to add.
    fileprivate func keeping(_ places: Set<String>, of other: JSONValue, at place: JSONPointer) -> JSONValue {
        guard !places.isEmpty, let object, let others = other.object else { return self }
        let own = object.members.map { member in
            let value = others[member.key].map { member.value.keeping(places, of: $0, at: place / member.key) }
            return JSONObject.Member(member.key, value ?? member.value)
        }
        return .object(JSONObject(own + others.members.filter { places.contains((place / $0.key).text) }))
    }
}
