import ArgumentParser
import Domain
import Import
import Passwords

/// `passwordHash=pw`: a system field and its name in a file.
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

/// `facebook=1234567890`: a provider and the app to which its ids belong.
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
    /// Reads a file with a project's hash parameters from Firebase's console.
    ///
    /// - Throws: An exit code after printing what is missing.
    init(file path: String) throws {
        let text = String(decoding: try InputFile.bytes(path), as: UTF8.self)
        do throws(HashConfigProblem) { try self.init(hashConfig: text) } catch {
            throw Exit.saying("\(InputFile.name(path)): \(error)", Exit.dataError)
        }
    }
}
