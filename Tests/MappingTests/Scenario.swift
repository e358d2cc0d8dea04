import Facebook
import Mapping
import Testing
import Vocabulary

/// An application with its mappings, written as JSON texts, to be compiled and applied in one line.
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
        // What a preview says must be what a login does, in whatever test.
        try expectAgreement(of: trace(profile, scopes: scopes), with: mapping, on: object, scopes: scopes)
        return try mapping.apply(to: object, grantedScopes: scopes)
    }

    /// What keeps the mappings from being used; empty when nothing does.
    func problems() throws -> [MappingProblem] {
        do {
            _ = try compiled()
            return []
        } catch let problems as MappingProblems {
            return problems.all
        }
    }

    /// Why a login with this profile fails.
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
    /// A client-mappable property of the given name.
    static func open(_ name: String, _ type: PropertyType, required: Bool = false) throws -> Property {
        Property(name: try #require(PropertyName(name)), type: type, required: required, clientMappable: true)
    }

    /// A property that only stored mappings write.
    static func closed(_ name: String, _ type: PropertyType) throws -> Property {
        Property(name: try #require(PropertyName(name)), type: type)
    }
}

/// What becomes of one value on its way into a property.
enum Fate: Equatable, Sendable {
    case value(PropertyValue)
    case lacking
    case refused

    /// Sends a value, written as JSON, through one entry.
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
