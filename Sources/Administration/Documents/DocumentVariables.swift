import Domain
import Encodings
import Providers

/// The environment variables that a document named for keys and secrets.
///
/// They are stored, so that an export uses the same names. The place of a name contains the label of the key or the id
/// of the app. Such a place stays correct when other keys or apps are added or removed.
struct DocumentVariables: Sendable, Equatable {
    /// The names by the UTF-8 bytes of the place.
    ///
    /// Labels that are canonically equivalent in Unicode are different labels.
    private var names: [[UInt8]: String] = [:]

    init() {}

    /// Reads the stored names.
    ///
    /// A name that documents may not use is ignored.
    init(stored: JSONValue) {
        for member in stored.object?.members ?? [] {
            guard let name = member.value.string, !name.hasPrefix(ServiceVariable.prefix) else { continue }
            names[Array(member.key.utf8)] = name
        }
    }

    /// The names as the database stores them: an object with the name for each place.
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

    /// Returns the variable of the key or the secret at a place, as documents write it: `{"env": name}`.
    func named(_ place: JSONPointer) -> JSONValue { .object(["env": .string(self[place] ?? "")]) }

    static func key(_ label: String) -> JSONPointer { JSONPointer() / "keys" / label }

    static func app(_ app: ProviderAppID, at provider: ProviderName) -> JSONPointer {
        JSONPointer() / "providers" / provider.text / "apps" / app.text
    }

    static func option(_ option: SecretOption, of provider: ProviderName) -> JSONPointer {
        JSONPointer() / "providers" / provider.text / option.name
    }
}
