import Configuration
import FoundationEssentials
import Vocabulary

/// The JSON file of `FEDERATION_CONFIG_FILE`: what the environment does not say.
///
/// Its values are read as the texts that a variable would hold. Each counts as a secret, which the configuration's own
/// log leaves out.
struct ConfigurationFile {
    let provider: InMemoryProvider

    /// Reads a file.
    ///
    /// - Throws: `ConfigurationProblems` with every value that is none.
    init(path: String) throws {
        guard let data = try? Data(contentsOf: URL(filePath: path)) else {
            throw Self.problems(["\(path) cannot be read"])
        }
        let json: JSONValue
        do { json = try JSONParser.parse([UInt8](data), limits: .request) } catch {
            throw Self.problems(["in \(path) \(error)"])
        }
        guard case .object(let object) = json else { throw Self.problems(["\(path) must hold an object"]) }
        var levels = Levels()
        levels.read(object, below: [])
        guard levels.wrong.isEmpty else {
            throw Self.problems(
                levels.wrong.map { "in \(path) \($0) must be a text, a number, or true or false" }
            )
        }
        provider = InMemoryProvider(values: levels.values)
    }

    private static func problems(_ texts: [String]) -> ConfigurationProblems {
        ConfigurationProblems(texts: texts.map { ConfigurationReader.variable("config.file") + ": " + $0 })
    }

    /// Objects within each other, whose names may also be joined by dots.
    private struct Levels {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        /// Where something else than a value stands.
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
