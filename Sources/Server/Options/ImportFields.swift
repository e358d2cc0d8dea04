import ArgumentParser
import Domain
import Import
import Passwords

/// A command-line argument such as `passwordHash=pw`: a system field, and the name that the import file has for it.
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

/// A command-line argument such as `facebook=1234567890`: a provider, and the app to which the users' ids belong.
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

extension IdentityMember: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension FirebaseScryptParameters {
    /// Reads the password hash parameters of a Firebase project from a file, as Firebase's console shows them.
    ///
    /// - Throws: An exit code after printing what is missing.
    init(file path: String) throws {
        let text = String(decoding: try InputFile.bytes(path), as: UTF8.self)
        do throws(HashConfigProblem) { try self.init(hashConfig: text) } catch {
            throw Exit.saying("\(InputFile.name(path)): \(error)", Exit.dataError)
        }
    }
}
