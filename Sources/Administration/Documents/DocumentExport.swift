import Applications
import Mapping
import Providers
import Store
import Vocabulary

/// Writes an application as the document that `apply` takes back.
///
/// Keys and secrets are under the variables that a document named for them; what came by other ways gets a name here.
/// Settings are complete, so that a later default changes nothing; elsewhere what equals its default is left out.
enum DocumentExport {
    static func document(of stored: StoredApplication, kinds: ProviderKinds) -> JSONValue {
        let application = DesiredApplication(stored, kinds: kinds)
        let variables = application.exportedVariables
        var document: JSONObject = ["application": .string(application.id.text), "name": .string(application.name)]
        if !application.schema.hasSameBytes(as: application.id.text) {
            document.append("schema", .string(application.schema))
        }
        if let database = application.database { document.append("database", database.json) }
        document.append("settings", SettingsDocument.document(of: application.settings))
        let keys = application.keys.map { key -> JSONValue in
            let name = variables.named(DocumentVariables.key(key.label))
            var document: JSONObject = ["label": .string(key.label), "key": name]
            if key.server { document.append("server", .bool(true)) }
            return JSONValue.object(document)
        }
        document.append("keys", .array(keys))
        let providers = application.providers.sorted { $0.key.text < $1.key.text }.map { name, settings in
            JSONObject.Member(
                name.text,
                provider(settings, named: name, of: kinds.named(settings.kind), variables)
            )
        }
        if !providers.isEmpty { document.append("providers", .object(JSONObject(providers))) }
        document.append("properties", properties(application.properties))
        // What is left of a provider that has been removed is nothing.
        let mapped = application.mappings.filter { name, mapping in
            application.providers[name] != nil || kinds.named(name) != nil || mapping != .array([])
        }
        let mappings = mapped.sorted { $0.key.text < $1.key.text }.map { name, mapping in
            JSONObject.Member(name.text, (try? Mapping(mapping))?.json ?? mapping)
        }
        if !mappings.isEmpty { document.append("mapping", .object(JSONObject(mappings))) }
        return .object(document)
    }

    private static func provider(
        _ provider: DesiredApplication.Provider,
        named instance: ProviderName,
        of kind: (any ProviderKind)?,
        _ variables: DocumentVariables
    ) -> JSONValue {
        guard let kind else {
            return .object(["kind": .string(provider.kind.text), "enabled": .bool(provider.enabled)])
        }
        let terms = kind.appTerms
        let apps = provider.apps.map { app in
            let secret = variables.named(DocumentVariables.app(app.id, at: instance))
            var written: JSONObject = [terms.id: .string(app.id.text), terms.secret: secret]
            terms.write(configID: app.configID, into: &written)
            return JSONValue.object(written)
        }
        let options = provider.options.object?.members ?? []
        let defaults = kind.defaultOptions.object
        let exported = options.filter { option in
            option.value != defaults?[option.key]
                || kind.exportedOptions.contains { $0.hasSameBytes(as: option.key) }
        }
        var settings: JSONObject = instance == kind.name ? [:] : ["kind": .string(kind.name.text)]
        settings.append("enabled", .bool(provider.enabled))
        settings.append("apps", .array(apps))
        let shown = kind.members(of: .object(JSONObject(exported))) { option, _ in
            variables.named(DocumentVariables.option(option, of: instance))
        }
        return .object(JSONObject(settings.members + shown))
    }

    private static func properties(_ properties: [Property]) -> JSONValue {
        let written = properties.filter { !Property.builtIn.contains($0) }
        return .object(
            JSONObject(
                written.map { property in
                    var declaration: JSONObject = ["type": .string(property.type.rawValue)]
                    if property.required { declaration.append("required", .bool(true)) }
                    if property.clientMappable { declaration.append("clientMappable", .bool(true)) }
                    if property.visibleTo != .owner {
                        declaration.append("visibleTo", .string(property.visibleTo.rawValue))
                    }
                    if property.indexed { declaration.append("indexed", .bool(true)) }
                    return JSONObject.Member(property.name.text, .object(declaration))
                }
            )
        )
    }
}

extension DesiredApplication {
    /// The variables of all keys and secrets, as an export names them: as a document did, or by names made here.
    var exportedVariables: DocumentVariables {
        var names = VariableNames(of: id, taken: variables.all)
        var exported = DocumentVariables()
        func name(_ place: JSONPointer, _ part: String, _ suffix: String) {
            exported[place] = variables[place] ?? names.next(part, suffix)
        }
        for key in keys { name(DocumentVariables.key(key.label), key.label, "API_KEY") }
        for (instance, provider) in providers.sorted(by: { $0.key.text < $1.key.text }) {
            for (index, app) in provider.apps.enumerated() {
                let part = index == 0 ? instance.text : "\(instance)_\(app.id)"
                name(DocumentVariables.app(app.id, at: instance), part, "APP_SECRET")
            }
            for option in kinds.named(provider.kind)?.secretOptions ?? []
            where StoredSecretOption(provider.options.object?[option.name]) != nil {
                name(DocumentVariables.option(option, of: instance), instance.text, option.variable)
            }
        }
        return exported
    }
}

/// Names of environment variables for the keys and secrets of one application, no name twice.
struct VariableNames {
    private let application: String
    private var taken: Set<String>
    /// What a document may name.
    private static let mostBytes = 128

    init(of application: ApplicationID, taken: Set<String> = []) {
        self.taken = taken
        let name = Self.shellName(application.text)
        // A shell takes no variable that begins with a digit.
        self.application = name.utf8.first?.isASCIIDigit == true ? "_" + name : name
    }

    mutating func next(_ part: String, _ suffix: String) -> String {
        // A key with its application's name as label is SHOP_API_KEY, not SHOP_SHOP_API_KEY.
        let part = Self.shellName(part)
        let whole = part == application ? application : "\(application)_\(part)"
        let start = String(whole.prefix(Self.mostBytes - suffix.utf8.count - 5))
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
