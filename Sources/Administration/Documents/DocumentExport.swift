import Applications
import Description
import Domain
import Encodings
import Mapping
import Providers
import Store

/// Exports an application as the document that `apply` reads.
///
/// In place of keys and secrets, the export has names of environment variables. They are the names that an applied
/// document had, or new ones. The export has all settings, even those with the default value. So the settings stay the
/// same even if a later version has other defaults. Of everything else, default values are left out.
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
        // Leaves out the empty mapping of a removed provider whose name is not that of its kind.
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
                written.map { JSONObject.Member($0.name.text, .object(Property.description.deviations(of: $0))) }
            )
        )
    }
}

extension DesiredApplication {
    /// The names of environment variables that an export has in place of keys and secrets.
    ///
    /// If an applied document named a variable for a key or secret, it is that name. Otherwise it is a new name, made
    /// from the names of the application and of the key, provider or app.
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

/// Makes unique names of environment variables for the keys and secrets of one application.
struct VariableNames {
    private let application: String
    /// The first character of every name: `_` if a variable's name must not begin with the application's id; otherwise
    /// empty.
    ///
    /// A name must not begin with a digit, or with the prefix that is reserved for the service's own variables.
    private let mark: String
    private var taken: Set<String>
    /// The maximum length in bytes of the name of an environment variable in an application document.
    private static let maxBytes = 128

    init(of application: ApplicationID, taken: Set<String> = []) {
        self.taken = taken
        self.application = Self.shellName(application.text)
        // A shell variable cannot begin with a digit. Names with the service's prefix are reserved for the service.
        let isTaken = self.application.utf8.first?.isASCIIDigit == true
        mark = isTaken || "\(self.application)_".hasPrefix(ServiceVariable.prefix) ? "_" : ""
    }

    mutating func next(_ part: String, _ suffix: String) -> String {
        // If the application `shop` has a key with the label `shop`, the name is SHOP_API_KEY, not SHOP_SHOP_API_KEY.
        let part = Self.shellName(part)
        let whole = mark + (part == application ? application : "\(application)_\(part)")
        let start = String(whole.prefix(Self.maxBytes - suffix.utf8.count - 5))
        var name = "\(start)_\(suffix)"
        var count = 2
        while !taken.insert(name).inserted {
            name = "\(start)_\(count)_\(suffix)"
            count += 1
        }
        return name
    }

    /// Returns the text in upper case.
    ///
    /// Every byte that is not an ASCII letter or digit becomes `_`.
    private static func shellName(_ text: String) -> String {
        String(decoding: text.utf8.map { $0.isASCIIAlphanumeric ? $0 : UInt8(ascii: "_") }, as: UTF8.self).uppercased()
    }
}
