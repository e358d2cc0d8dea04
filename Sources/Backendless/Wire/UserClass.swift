import Applications
import Domain
import Encodings

/// Describes the members of user objects, each as a column, in the form that client SDKs read.
///
/// See docs/protocols/backendless.md §3.4.
enum UserClass {
    static func write(_ loaded: LoadedApplication, for viewer: Viewer) -> JSONWriter {
        var writer = JSONWriter(capacity: 2048)
        writer.array { writer in
            for column in columns(of: loaded, for: viewer) {
                writer.object { writer in
                    writer.member("name", column.name)
                    writer.member("type", column.type)
                    writer.member("required", .bool(column.required))
                    writer.member("identity", .bool(column.name == loaded.application.settings.identityProperty.text))
                    writer.member("isPrimaryKey", .bool(column.name == "objectId"))
                    writer.member("autoLoad", .bool(false))
                    for key in ["defaultValue", "relatedTable", "customRegex"] { writer.member(key, .null) }
                }
            }
        }
        return writer
    }

    private typealias Column = (name: String, type: String, required: Bool)

    private static func columns(of loaded: LoadedApplication, for viewer: Viewer) -> [Column] {
        let system: [Column] = [
            ("objectId", "STRING_ID", false), ("ownerId", "STRING", false), ("created", "DATETIME", false),
            ("updated", "DATETIME", false), ("lastLogin", "DATETIME", false), ("userStatus", "STRING", false),
            ("socialAccount", "STRING", false), ("accountType", "STRING", false), ("blUserLocale", "STRING", false),
            ("password", "STRING", true),
        ]
        let declared = loaded.application.properties.filter { $0.visibleTo.includes(viewer) }
            .map { Column($0.name.text, word($0.type), $0.required) }
        // An undeclared property may have any JSON value.
        return system + declared + loaded.undeclaredNames.map { Column($0.text, "UNKNOWN", false) }
    }

    /// Returns the name of a type in responses.
    ///
    /// SDKs have no type for days, so a day is a text in responses.
    private static func word(_ type: PropertyType) -> String {
        switch type {
        case .date: PropertyType.string.rawValue
        case .string, .text, .int, .double, .boolean, .dateTime, .json: type.rawValue
        }
    }
}
