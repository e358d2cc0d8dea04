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

/// A command-line argument such as `facebook=fbId,app=1234567890`: a provider, the member of a record that holds the
/// user's id at the provider, and optionally the app to which the id belongs.
struct IdentityMember: ExpressibleByArgument, Sendable {
    let provider: ProviderName
    let member: String
    let app: ProviderAppID?

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, let provider = ProviderName(parts[0]) else { return nil }
        let ends = parts[1].ranges(of: ",app=")
        let app = ends.last.map { String(parts[1][$0.upperBound...]) }
        let member = String(parts[1][..<(ends.last?.lowerBound ?? parts[1].endIndex)])
        guard !member.isEmpty, app == nil || app.flatMap(ProviderAppID.init) != nil else { return nil }
        self.provider = provider
        self.member = member
        self.app = app.flatMap(ProviderAppID.init)
    }
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
