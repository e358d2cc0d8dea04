import Identity
import Mapping
import Store

/// Writes an application as the document that `apply` takes back.
///
/// Settings are complete, so that a later default changes nothing; elsewhere what equals its default is left out.
enum DocumentExport {
    static func document(of stored: StoredApplication) -> JSONValue {
        let application = DesiredApplication(stored)
        var names = VariableNames(of: application.id)
        var document: JSONObject = ["application": .string(application.id.text), "name": .string(application.name)]
        if !application.schema.hasSameBytes(as: application.id.text) {
            document.append("schema", .string(application.schema))
        }
        document.append("settings", SettingsDocument.document(of: application.settings))
        let keys = application.keys.map { key in
            JSONValue.object([
                "label": .string(key.label), "key": .object(["env": .string(names.next(key.label, "API_KEY"))]),
            ])
        }
        document.append("keys", .array(keys))
        if let facebook = application.facebook {
            document.append("providers", .object(["facebook": provider(facebook, &names)]))
        }
        document.append("properties", properties(application.properties))
        let mapping = (try? Mapping(application.mapping))?.json ?? application.mapping
        document.append("mapping", .object(["facebook": mapping]))
        return .object(document)
    }

    private static func provider(_ facebook: DesiredApplication.Facebook, _ names: inout VariableNames) -> JSONValue {
        var settings: JSONObject = [
            "enabled": .bool(facebook.enabled), "graphVersion": .string(facebook.graphVersion),
        ]
        if facebook.proof != .timed { settings.append("proof", .string(facebook.proof.rawValue)) }
        let apps = facebook.apps.enumerated().map { index, app in
            let name = names.next(index == 0 ? "FACEBOOK" : "FACEBOOK_" + app.id.text, "APP_SECRET")
            return JSONValue.object(["appId": .string(app.id.text), "appSecret": .object(["env": .string(name)])])
        }
        settings.append("apps", .array(apps))
        let defaults = FacebookOptionsDocument.document(of: FacebookOptions())
        let options = FacebookOptionsDocument.document(of: facebook.options)
        let changed = options.picking(FacebookOptionsDocument.names(changedFrom: defaults, to: options))
        for option in changed.object?.members ?? [] { settings.append(option.key, option.value) }
        return .object(settings)
    }

    private static func properties(_ properties: [Property]) -> JSONValue {
        let written = properties.filter { !Property.builtIn.contains($0) }
        return .object(
            JSONObject(
                written.map { property in
                    var declaration: JSONObject = ["type": .string(property.type.rawValue)]
                    if property.required { declaration.append("required", .bool(true)) }
                    if property.clientMappable { declaration.append("clientMappable", .bool(true)) }
                    return JSONObject.Member(property.name.text, .object(declaration))
                }
            )
        )
    }
}

/// Names of environment variables for the keys and secrets of one application, no name twice.
private struct VariableNames {
    private let application: String
    private var taken: Set<String> = []
    /// What a document may name.
    private static let mostBytes = 128

    init(of application: ApplicationID) {
        let name = Self.shellName(application.text)
        // A shell takes no variable that begins with a digit.
        self.application = name.utf8.first?.isASCIIDigit == true ? "_" + name : name
    }

    mutating func next(_ part: String, _ suffix: String) -> String {
        let start = String("\(application)_\(Self.shellName(part))".prefix(Self.mostBytes - suffix.utf8.count - 5))
        var name = "\(start)_\(suffix)"
        var count = 2
        while !taken.insert(name).inserted {
            name = "\(start)_\(count)_\(suffix)"
            count += 1
        }
        return name
    }

    /// Upper case, with `_` for every byte that is no ASCII letter or digit.
    private static func shellName(_ text: String) -> String {
        String(decoding: text.utf8.map { $0.isASCIIAlphanumeric ? $0 : UInt8(ascii: "_") }, as: UTF8.self).uppercased()
    }
}
