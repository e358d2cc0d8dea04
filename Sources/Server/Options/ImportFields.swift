import ArgumentParser
import Import
import Passwords
import Vocabulary

/// `passwordHash=pw`: what a system field is called in a file.
struct FieldName: ExpressibleByArgument, Sendable {
    let field: SystemField
    let column: String

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, let field = SystemField(rawValue: String(parts[0])) else { return nil }
        self.field = field
        column = String(parts[1])
    }
}

/// `facebook=1234567890`: the app to which the ids of a provider belong.
struct ProviderAppName: ExpressibleByArgument, Sendable {
    let provider: ProviderName
    let app: ProviderAppID

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, let provider = ProviderName(parts[0]), let app = ProviderAppID(String(parts[1])) else {
            return nil
        }
        self.provider = provider
        self.app = app
    }
}

extension FirebaseScryptParameters {
    /// Reads what Firebase's console shows of a project, `hash_config { … }`, or the same as JSON.
    ///
    /// - Throws: An exit code after saying what lacks.
    init(file path: String) throws {
        let text = String(decoding: try InputFile.bytes(path), as: UTF8.self)
        func value(_ name: String) throws -> String {
            guard let start = text.firstRange(of: name)?.upperBound else { throw Self.lacks(name, path) }
            let rest = text[start...].drop { "\": =\t".contains($0) }
            let value = rest.prefix { !"\", \t\r\n}".contains($0) }
            guard !value.isEmpty else { throw Self.lacks(name, path) }
            return String(value)
        }
        func number(_ name: String) throws -> Int {
            guard let number = Int(try value(name)) else { throw Self.lacks(name, path) }
            return number
        }
        let (key, separator) = (Secret(try value("base64_signer_key")), try value("base64_salt_separator"))
        let (rounds, memoryCost) = (try number("rounds"), try number("mem_cost"))
        do throws(ForeignHashProblem) {
            try self.init(signerKey: key, saltSeparator: separator, rounds: rounds, memoryCost: memoryCost)
        } catch {
            throw Exit.saying("\(InputFile.name(path)): no hash could be checked with this: \(error)", Exit.dataError)
        }
    }

    private static func lacks(_ name: String, _ path: String) -> ExitCode {
        Exit.saying("\(InputFile.name(path)): has no \(name), as Firebase's console shows it", Exit.dataError)
    }
}
