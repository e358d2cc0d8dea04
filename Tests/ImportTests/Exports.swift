import Domain
import Encodings
import Foundation
@testable import Import
import Testing

/// Small made-up exports in the formats of their systems.
enum Exports {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Exports")
        .path

    static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
    }

    /// Returns the records of a file that is read in parts of that many bytes.
    static func records(_ bytes: [UInt8], of source: ImportSource, parts: Int = 65_536) throws -> [SourceRecord] {
        var rest = bytes[...]
        var stream = try RecordStream(of: source) {
            let part = Array(rest.prefix(parts))
            rest = rest.dropFirst(parts)
            return part
        }
        var records: [SourceRecord] = []
        while let record = try stream.next() { records.append(record) }
        return records
    }

    /// The subject rules of the provider kinds.
    static let subjects = [
        ProviderName(known: "facebook"): SubjectRule(isDecimal: true),
        ProviderName(known: "twitter"): SubjectRule(isDecimal: true, isGlobal: true),
    ]

    static func application(
        _ properties: [Property] = Self.properties,
        dynamic: Bool = false,
        undeclared: UndeclaredProperties? = nil,
        requiresEmail: Bool = false,
        roles: [String] = ["staff"]
    ) throws -> Application {
        var settings = ApplicationSettings()
        settings.dynamicProperties = dynamic
        settings.undeclaredProperties = undeclared
        settings.roles = roles
        return Application(
            id: try #require(ApplicationID("demo")),
            name: "Demo",
            schema: "demo",
            revision: 1,
            settings: settings,
            properties: Property.builtIn.map { property in
                guard requiresEmail, property.name == .email else { return property }
                return Property(name: property.name, type: property.type, required: true)
            } + properties
        )
    }

    static func named(_ text: String) -> PropertyName {
        guard let name = PropertyName(text) else { preconditionFailure("\(text) is no name") }
        return name
    }

    static let properties = [
        Property(name: named("age"), type: .int), Property(name: named("born"), type: .date),
        Property(name: named("seen"), type: .dateTime), Property(name: named("city"), type: .string),
        Property(name: named("member"), type: .boolean),
        Property(name: named("customAttributes"), type: .json),
    ]
}

extension PlannedUser {
    /// All facts of the user in one line.
    var text: String {
        var parts = [source.id, source.status.rawValue]
        if source.keepsID { parts.append("kept") }
        if source.emailVerified { parts.append("verified") }
        if let locale = given.locale?.value { parts.append("locale=\(locale)") }
        for (name, moment) in [
            ("created", source.created), ("updated", source.updated), ("lastLogin", source.lastLogin),
        ] {
            if let moment { parts.append("\(name)=\(moment)") }
        }
        if let login { parts.append("login=\(login)") }
        switch source.password {
        case .text(let text)?: parts.append("hash=\(text.reveal().prefix(7))")
        case .firebase(let hash, let salt)?: parts.append("firebase=\(hash.count)+\(salt.count)")
        case .digest(let name, let hash, let salt, let isBefore)?:
            parts.append("\(name)=\(hash.count)+\(salt.count) \(isBefore ? "before" : "after")")
        case nil: break
        }
        if let uid = source.uid { parts.append("uid=\(uid)") }
        if let claims = source.claims { parts.append("claims=\(claims.text)") }
        for (key, created) in identities { parts.append("\(key.path) \(created.map(String.init) ?? "-")") }
        if !source.roles.isEmpty { parts.append("roles=\(source.roles)") }
        for (property, value) in given.values { parts.append("\(property.name)=\(value?.json.text ?? "null")") }
        if !given.dynamic.members.isEmpty { parts.append("dynamic=\(JSONValue.object(given.dynamic).text)") }
        if !unmapped.isEmpty { parts.append("unmapped=\(unmapped.joined(separator: ","))") }
        return parts.joined(separator: " ")
    }
}

extension ImportPlan {
    /// Returns one line for each record of a file: the line where the record begins, and the user or the refusal.
    func trace(_ records: [SourceRecord]) -> [String] {
        records.map { record in
            do throws(RecordRefusal) { return "\(record.line): \(try user(of: record).text)" } catch {
                return "\(record.line): \(error.reason.rawValue)"
            }
        }
    }
}
