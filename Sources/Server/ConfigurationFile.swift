import Configuration
import Encodings
import FoundationEssentials
import Providers

/// A JSON file with values of configuration variables; `FEDERATION_CONFIG_FILE` contains its path.
///
/// A value in the file counts only if the environment does not set the variable. A number or a Boolean counts as its
/// text. Each value counts as a secret, so the configuration library does not log it.
struct ConfigurationFile {
    let provider: InMemoryProvider
    /// The error messages about names in the file that are not names of configuration variables.
    let unknown: [String]

    /// Reads a configuration file.
    ///
    /// - Throws: `ConfigurationProblems` with every member whose value has a wrong type.
    init(path: String) throws(ConfigurationProblems) {
        guard let data = try? Data(contentsOf: URL(filePath: path)) else {
            throw Self.problems(["\(path) cannot be read"])
        }
        let json: JSONValue
        do { json = try JSONParser.parse([UInt8](data), limits: .request) } catch {
            throw Self.problems(["in \(path) \(error)"])
        }
        guard case .object(let object) = json else { throw Self.problems(["\(path) must contain a JSON object"]) }
        var levels = Levels()
        levels.read(object, below: [])
        guard levels.wrong.isEmpty else {
            throw Self.problems(
                levels.wrong.map { "in \(path) \($0) must be a text, a number, or true or false" }
            )
        }
        provider = InMemoryProvider(values: levels.values)
        let places = levels.values.keys.map { $0.components.joined(separator: ".") }
        unknown = Self.problems(UnknownVariables.problems(file: places).map { "in \(path) \($0)" }).texts
    }

    private static func problems(_ texts: [String]) -> ConfigurationProblems {
        ConfigurationProblems(texts: texts.map { ListeningVariables.configFile.name + ": " + $0 })
    }

    /// Collects the values of configuration variables from a JSON object and the objects within it.
    ///
    /// The key `a.b` means the same as the key `b` in an inner object with the key `a`.
    private struct Levels {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        /// The paths of members that cannot be the value of a variable: arrays and `null`.
        var wrong: [String] = []

        mutating func read(_ object: JSONObject, below path: [String]) {
            for member in object.members {
                let path = path + member.key.split(separator: ".").map(String.init)
                switch member.value {
                case .object(let object): read(object, below: path)
                case .string(let text): add(text, at: path)
                case .number(let number): add(number.literal, at: path)
                case .bool(let bool): add(String(bool), at: path)
                case .null, .array: wrong.append(path.joined(separator: "."))
                }
            }
        }

        private mutating func add(_ text: String, at path: [String]) {
            values[AbsoluteConfigKey(path)] = ConfigValue(.string(text), isSecret: true)
        }
    }
}
