import Domain
import Encodings
import Facebook
import FoundationEssentials
import Mapping
import Testing

extension Scenario {
    /// Returns the trace of each mapping entry, as a preview shows it.
    func trace(
        _ profile: String,
        scopes: [String]? = [],
        user: User? = nil,
        written: String = "{}"
    ) throws -> MappingTrace {
        let tracer = MappingTracer(
            stored: try stored.map { try Mapping(Self.parse($0)) },
            client: try client.map(Self.parse),
            fields: .facebook,
            properties: properties,
            settings: settings,
            dynamicNames: dynamicNames
        )
        return tracer.trace(
            AdmittedProfile(try #require(try Self.parse(profile).object), by: .facebook),
            grantedScopes: scopes,
            user: user,
            written: try #require(try Self.parse(written).object)
        )
    }

    /// Checks that the trace of a first login agrees with the login itself.
    func expectAgreement(
        of trace: MappingTrace,
        with mapping: CompiledMapping,
        on profile: AdmittedProfile,
        scopes: [String]?
    ) throws {
        let planned = trace.entries.filter { $0.outcome != .skipped }
        #expect(planned.map(\.to) == mapping.targets.map(\.name))
        do {
            let mapped = try mapping.apply(to: profile, grantedScopes: scopes)
            #expect(planned.map(\.value) == mapped.values)
            #expect(planned.allSatisfy { $0.value != nil || $0.outcome == ($0.leftOut == nil ? .missing : .leftOut) })
            #expect(planned.compactMap(\.leftOut) == mapped.omissions.map(\.reason))
            #expect(!planned.contains { $0.outcome == .refused })
            #expect(trace.missingPermissions == mapped.missingPermissions)
            let unfilled = properties.contains { property in
                property.required
                    && !zip(mapping.targets, mapped.values).contains { $0.name == property.name && $1 != nil }
            }
            #expect(trace.refusal?.reason == (unfilled ? .constraintViolation : nil))
        } catch {
            let refusal = try #require(trace.refusal)
            #expect(refusal.reason == error.reason)
            #expect(refusal.message == error.message)
            #expect(refusal.details == error.details)
            #expect(planned.first { $0.outcome == .refused }?.why == error.message)
        }
    }
}

extension User {
    /// Returns a user with these properties; the application's other properties are empty.
    static func having(
        _ properties: [(String, PropertyValue)],
        dynamic: JSONObject = JSONObject()
    ) throws -> User {
        User(
            objectID: ObjectID(UUID()),
            created: 0,
            updated: nil,
            lastLogin: nil,
            status: .enabled,
            socialAccount: "FACEBOOK",
            locale: nil,
            emailVerified: false,
            properties: try properties.map { (name: try #require(PropertyName($0.0)), value: $0.1, visibleTo: .owner) },
            dynamic: dynamic
        )
    }
}
