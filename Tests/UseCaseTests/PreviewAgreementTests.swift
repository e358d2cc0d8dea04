import Accounts
import Administration
import Domain
import Encodings
import Facebook
import FoundationEssentials
import Logins
import Mapping
import Store
import Testing
import TestSupport

/// Tests that previews, which Swift computes, agree with repeated logins, which SQL computes.
@Suite("Previews agree with logins")
struct PreviewAgreementTests {
    /// Values as a profile has them, and as a manual change of the table writes them.
    private static let pools: [(type: PropertyType, profile: [String], edits: [String])] = [
        (.string, [#""a""#, #""b""#, #""""#], ["'a'", "'b'", "''", "' '"]),
        (.text, [#""é""#, "7"], ["'e\u{301}'", "'7'", "''"]),
        (.int, ["1", "2.0", #""3""#], ["1", "2", "9"]),
        (.double, ["1.5", "0.1", "1e2"], ["1.5", "0.1", "100"]),
        (.boolean, ["true", "false"], ["true", "false"]),
        (.date, [#""05/06/1990""#, #""1990-05-07""#, #""05/06""#], ["date '1990-05-06'", "date '2000-01-01'"]),
        (
            .dateTime, [#""2017-05-06T07:08:09+0000""#, "1494054490"],
            ["timestamptz '2017-05-06 09:08:09+02'", "timestamptz '2017-05-06 07:08:09.5Z'"]
        ),
        (.json, [#"{"a":1.0,"b":[]}"#, "[1,2.50]", #""x""#], [#"'{"b": [], "a": 1}'"#, "'[1, 2.5]'", "'null'"]),
    ]

    /// A mapping entry: of a whole field, of a field that is cleared, or of an object's member.
    private struct Target {
        let name: String
        let pool: (type: PropertyType, profile: [String], edits: [String])
        let sync: SyncMode
        var clears = false
        var isMember = false

        var field: String { "f_" + name }
        var entry: JSONValue {
            var entry: JSONObject = [
                "from": .string(isMember ? field + ".m" : field), "to": .string(name), "sync": .string(sync.rawValue),
            ]
            if clears { entry.append("whenMissing", .string("clear")) }
            return .object(entry)
        }
    }

    private static let targets = pools.flatMap { pool in
        SyncMode.allCases.flatMap { sync in
            let name = "\(pool.type.rawValue)_\(sync.rawValue)".lowercased()
            var targets = [
                Target(name: name, pool: pool, sync: sync),
                Target(name: name + "_member", pool: pool, sync: sync, isMember: true),
            ]
            if sync == .always || sync == .untilEdited {
                targets.append(Target(name: name + "_clear", pool: pool, sync: sync, clears: true))
            }
            return targets
        }
    }

    @Test("entry by entry, over logins and edits in any order", arguments: [1, 2, 3] as [UInt64])
    func agreement(seed: UInt64) async throws {
        try await Office.lend { office in
            var random = SeededRandom(seed)
            try await Self.prepare(office)
            var user: ObjectID?
            var outcomes: Set<String> = []
            for _ in 0..<25 {
                let profile = Self.profile(&random)
                var request: JSONObject = ["profile": profile]
                if let user { request.append("user", .string(user.description)) }
                let preview = try await office.administration.mappingPreviews.preview(
                    for: .facebook,
                    of: "demo",
                    .object(request),
                    by: Office.actor
                )
                #expect(preview.object?["created"] == .bool(user == nil))
                let before = try await Self.values(office)
                let written = try await Self.login(office, profile: try #require(profile.object))
                #expect(written.created == (user == nil))
                user = written.user.objectID
                let entries = try #require(preview.object?["entries"]?.array).compactMap(\.object)
                #expect(entries.count == Self.targets.count)
                for entry in entries {
                    let name = try #require(entry["to"]?.string)
                    let outcome = try #require(entry["outcome"]?.string)
                    let after = written.user.properties.first { $0.name.text == name }?.value?.json
                    let expected: JSONValue? =
                        switch outcome {
                        case "written", "unchanged", "defaulted": entry["value"]
                        case "cleared": nil
                        default: before[name]
                        }
                    #expect(Self.normal(after) == Self.normal(expected), "\(name) \(outcome): \(entry)")
                    #expect(Self.normal(entry["current"]) == Self.normal(before[name]))
                    if outcome == "unchanged" { #expect(Self.normal(after) == Self.normal(before[name])) }
                    if outcome == "written" { #expect(Self.normal(after) != Self.normal(before[name])) }
                }
                outcomes.formUnion(entries.compactMap { $0["outcome"]?.string })
                try await Self.edit(office, &random)
            }
            #expect(outcomes == ["written", "unchanged", "skipped", "missing", "cleared"])
        }
    }

    private static func prepare(_ office: Office) async throws {
        for target in targets {
            let property: JSONObject = ["name": .string(target.name), "type": .string(target.pool.type.rawValue)]
            _ = try await office.administration.properties.declare(
                of: "demo",
                .object(property),
                if: .any,
                by: Office.actor
            )
        }
        _ = try await office.administration.mappings.put(
            for: .facebook,
            of: "demo",
            .array(targets.map(\.entry)),
            if: .any,
            by: Office.actor
        )
    }

    private static func profile(_ random: inout SeededRandom) -> JSONValue {
        var profile: JSONObject = ["id": .string("42")]
        for target in targets {
            guard let value = target.pool.profile.randomElement(using: &random),
                Int.random(in: 0..<4, using: &random) > 0
            else { continue }
            let given = (try? json(value)) ?? .null
            let isThere = Int.random(in: 0..<3, using: &random) > 0
            let object: JSONObject = isThere ? ["n": .integer(1), "m": given] : ["n": .integer(1)]
            profile.append(target.field, target.isMember ? .object(object) : given)
        }
        return .object(profile)
    }

    /// Changes some columns, as an operator may do by hand.
    private static func edit(_ office: Office, _ random: inout SeededRandom) async throws {
        var changes: [String] = []
        for target in targets where Int.random(in: 0..<3, using: &random) == 0 {
            let value = (target.pool.edits + ["null"]).randomElement(using: &random) ?? "null"
            changes.append("\(target.name) = \(value)")
        }
        guard !changes.isEmpty else { return }
        try await office.database.psql("update demo.users set \(changes.joined(separator: ", "))")
    }

    private static func login(_ office: Office, profile: JSONObject) async throws -> WrittenLogin {
        let id = try #require(ApplicationID("demo"))
        let stored = try #require(try await office.store.application(id))
        let mapping = try CompiledMapping(
            stored: try Mapping(try #require(stored.mapping)),
            client: nil,
            fields: .facebook,
            properties: stored.properties,
            settings: ApplicationSettings()
        )
        let application = Application(
            id: id,
            name: stored.name,
            schema: stored.schema,
            revision: stored.revision,
            settings: ApplicationSettings(),
            properties: stored.properties
        )
        let targets = mapping.targets.map {
            LoginStatement.Target(name: $0.name, type: $0.type, sync: $0.sync, mayBeCleared: $0.mayBeCleared)
        }
        let mapped = try mapping.apply(to: AdmittedProfile(profile, by: .facebook), grantedScopes: nil)
        let write = LoginWrite(
            verified: VerifiedIdentity(
                identity: IdentityKey(
                    provider: .facebook,
                    app: try #require(ProviderAppID("1")),
                    subject: try #require(Subject("42"))
                ),
                profile: profile,
                scopes: [],
                dataAccessExpiresAt: nil
            ),
            banHash: [],
            freshID: ObjectID(UUID()),
            tokenHash: (0..<32).map { _ in .random(in: 0 ... .max) },
            previousTokenHash: nil,
            sessionSeconds: 60,
            values: mapped.values,
            cleared: mapped.cleared,
            dynamic: JSONObject()
        )
        let statement = LoginStatement(application: application, provider: .facebook, tokens: nil, targets: targets)
        return try await office.store.login(write, by: statement, deadline: .now + .seconds(10)).get()
    }

    /// Returns the properties of the only user, as responses have them.
    private static func values(_ office: Office) async throws -> [String: JSONValue] {
        let page = try await office.administration.users.list(
            of: "demo",
            matching: UserSearch(),
            PageRequest(),
            by: Office.actor
        )
        let members = page.items.first?.object?.members ?? []
        return Dictionary(members.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the value with its numbers as PostgreSQL compares them; nil for an empty value.
    private static func normal(_ value: JSONValue?) -> JSONValue? {
        switch value {
        case nil, .null: nil
        case .number(let number): number.double.flatMap(JSONNumber.init).map(JSONValue.number)
        case .array(let elements): .array(elements.map { normal($0) ?? .null })
        case .object(let object): .object(JSONObject(object.members.map { .init($0.key, normal($0.value) ?? .null) }))
        case let other: other
        }
    }
}
