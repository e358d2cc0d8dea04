import Providers
import Vocabulary

/// The environment variables that a document named for keys and secrets, so that an export names the same.
///
/// Each stands by the place of the key or secret, told by the key's label and the app's id, which keep their meaning
/// when others come and go.
struct DocumentVariables: Sendable, Equatable {
    /// By the bytes of the place: labels that Unicode holds for equal are two labels.
    private var names: [[UInt8]: String] = [:]

    init() {}

    /// Reads what is stored; anything but a text counts as no name.
    init(stored: JSONValue) {
        for member in stored.object?.members ?? [] { names[Array(member.key.utf8)] = member.value.string }
    }

    /// As it is stored.
    var json: JSONValue {
        let sorted = names.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        return .object(
            JSONObject(sorted.map { JSONObject.Member(String(decoding: $0.key, as: UTF8.self), .string($0.value)) })
        )
    }

    var all: Set<String> { Set(names.values) }

    subscript(place: JSONPointer) -> String? {
        get { names[Array(place.text.utf8)] }
        set { names[Array(place.text.utf8)] = newValue }
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
