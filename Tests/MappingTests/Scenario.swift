import Domain
import Encodings
import Facebook
import Mapping
import Testing

/// An application with its mappings as JSON texts, which a test compiles and applies in one line.
struct Scenario {
    var properties: [Property] = Property.builtIn
    var settings = ApplicationSettings()
    var stored: String?
    var client: String?
    var dynamicNames: Set<PropertyName> = []

    static func parse(_ text: String) throws -> JSONValue {
        try JSONParser.parse(text, limits: .profile)
    }

    func compiled() throws -> CompiledMapping {
        try CompiledMapping(
            stored: stored.map { try Mapping(Self.parse($0)) },
            client: client.map { try Mapping(Self.parse($0), origin: .client) },
            fields: .facebook,
            properties: properties,
            settings: settings,
            dynamicNames: dynamicNames
        )
    }

    func apply(_ profile: String, scopes: [String]? = []) throws -> MappedProfile {
        let object = AdmittedProfile(try #require(try Self.parse(profile).object), by: .facebook)
        let mapping = try compiled()
        // In every test the preview must agree with the login.
        try expectAgreement(of: trace(profile, scopes: scopes), with: mapping, on: object, scopes: scopes)
        return try mapping.apply(to: object, grantedScopes: scopes)
    }

    /// Returns the problems that make the mappings unusable; empty when there are none.
    func problems() throws -> [MappingProblem] {
        do {
            _ = try compiled()
            return []
        } catch let problems as MappingProblems {
            return problems.all
        }
    }

    /// Returns the failure of a login with this profile; nil when the login succeeds.
    func failure(_ profile: String, scopes: [String]? = []) throws -> Failure? {
        do {
            _ = try apply(profile, scopes: scopes)
            return nil
        } catch let failure as Failure {
            return failure
        }
    }
}

extension Property {
    /// Returns a property of the given name that clients' mappings may write.
    static func open(_ name: String, _ type: PropertyType, required: Bool = false) throws -> Property {
        Property(name: try #require(PropertyName(name)), type: type, required: required, clientMappable: true)
    }

    /// Returns a property that only stored mappings may write.
    static func closed(_ name: String, _ type: PropertyType) throws -> Property {
        Property(name: try #require(PropertyName(name)), type: type)
    }
}

/// The result of writing one value to a property.
enum Fate: Equatable, Sendable {
    case value(PropertyValue)
    case lacking
    case refused

    /// Passes a value, written as JSON, through one mapping entry.
    static func of(_ json: String, as type: PropertyType, entry: String = "") throws -> Fate {
        let scenario = Scenario(
            properties: [try .open("p", type)],
            stored: #"[{"from":"v","to":"p"\#(entry)}]"#
        )
        if let failure = try scenario.failure("{\"v\":\(json)}") {
            #expect(failure.reason == .valueNotConvertible)
            return .refused
        }
        let mapped = try scenario.apply("{\"v\":\(json)}")
        #expect(mapped.values.count == 1)
        return mapped.values.first?.map { .value($0) } ?? .lacking
    }
}
