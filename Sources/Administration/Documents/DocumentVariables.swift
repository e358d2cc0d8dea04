import Domain
import Encodings
import Providers

/// The names of the environment variables that a document has in place of keys and secrets.
///
/// The database stores these names, so that an export uses the same ones. Each name is stored under a JSON pointer to
/// the key or secret. The pointer contains the label of the key or the id of the app, not a position in a list. It thus
/// stays correct when other keys or apps are added or removed.
struct DocumentVariables: Sendable, Equatable {
    /// The name of each environment variable, by the JSON pointer to its API key or secret.
    ///
    /// The pointer is stored as UTF-8 bytes. Labels that are canonically equivalent in Unicode are different bytes, but
    /// equal strings in Swift.
    private var names: [[UInt8]: String] = [:]

    init() {}

    /// Reads the names of environment variables from the database.
    ///
    /// A name that documents may not use is ignored.
    init(stored: JSONValue) {
        for member in stored.object?.members ?? [] {
            guard let name = member.value.string, !name.hasPrefix(ServiceVariable.prefix) else { continue }
            names[Array(member.key.utf8)] = name
        }
    }

    /// The names of environment variables as the database stores them: an object with a JSON pointer and a name per
    /// member.
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

    /// Returns the environment variable of a key or a secret, as documents write it: `{"env": name}`.
    ///
    /// `place` is the JSON pointer under which the name is stored. If no name is stored, the result has an empty name.
    func named(_ place: JSONPointer) -> JSONValue { .object(["env": .string(self[place] ?? "")]) }

    static func key(_ label: String) -> JSONPointer { JSONPointer() / "keys" / label }

    static func app(_ app: ProviderAppID, at provider: ProviderName) -> JSONPointer {
        JSONPointer() / "providers" / provider.text / "apps" / app.text
    }

    static func option(_ option: SecretOption, of provider: ProviderName) -> JSONPointer {
        JSONPointer() / "providers" / provider.text / option.name
    }
}
