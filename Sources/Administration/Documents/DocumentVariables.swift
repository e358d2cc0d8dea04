import Providers
import Vocabulary

/// The environment variables that a document named for keys and secrets, so that an export names the same.
///
/// Each stands by the place of the key or secret, told by the key's label and the app's id, which keep their meaning
/// when others come and go.
struct DocumentVariables: Sendable, Equatable {
    private var names: [String: String] = [:]

    init() {}

    /// Takes what is stored; what is no name there counts as nothing.
    init(stored: JSONValue) {
        for member in stored.object?.members ?? [] { names[member.key] = member.value.string }
    }

    /// As it is stored.
    var json: JSONValue {
        .object(JSONObject(names.sorted { $0.key < $1.key }.map { JSONObject.Member($0.key, .string($0.value)) }))
    }

    var all: Set<String> { Set(names.values) }

    subscript(place: JSONPointer) -> String? {
        get { names[place.text] }
        set { names[place.text] = newValue }
    }

    /// The variable of a place, as a document names it.
    func named(_ place: JSONPointer) -> JSONValue { .object(["env": .string(self[place] ?? "")]) }

    static func key(_ label: String) -> JSONPointer { JSONPointer() / "keys" / label }

    static func app(_ app: ProviderAppID, at provider: ProviderName) -> JSONPointer {
        JSONPointer() / "providers" / provider.text / "apps" / app.text
    }

    static func option(_ option: SecretOption, of provider: ProviderName) -> JSONPointer {
        JSONPointer() / "providers" / provider.text / option.name
    }
}
